package dataset

import (
	"cmp"
	"errors"
	"slices"

	"golang.org/x/sys/unix"
)

// Tally gathers files or folders by one word: why they could not be read, or what they are.
type Tally struct {
	Reason  string
	Count   int64
	Example []byte // the path of the first, raw
}

// maxTallies bounds the different reasons that are distinguished. Each may carry a path of 4 KiB out of the child.
const maxTallies = 32

// tallies counts by reason. The zero value is empty.
type tallies struct {
	list []Tally
	root []byte // goes before the examples
}

// The reasons that are no error of the kernel.
const (
	reasonPath  = "the path is longer than the system can open"
	reasonDepth = "nested too deep"
	reasonEmpty = "empty file"
	reasonMany  = "other reasons"
)

// add counts one. folder ends with a slash or is empty.
func (t *tallies) add(reason string, folder, name []byte) {
	i := slices.IndexFunc(t.list, func(a Tally) bool { return a.Reason == reason })
	if i < 0 && len(t.list) >= maxTallies-1 && reason != reasonMany {
		t.add(reasonMany, folder, name)
		return
	}
	if i < 0 {
		example := slices.Concat(t.root, folder, name)
		t.list = append(t.list, Tally{Reason: reason, Example: example[:min(len(example), maxPath)]})
		i = len(t.list) - 1
	}
	t.list[i].Count++
}

// sorted returns the tallies, those of most first.
func (t *tallies) sorted() []Tally {
	slices.SortStableFunc(t.list, func(a, b Tally) int { return cmp.Compare(b.Count, a.Count) })
	return t.list
}

// reasonOf is the reason to count an error by: the kernel's word for it without the path, and without the particulars
// of an array's header, so that like goes with like.
func reasonOf(err error) string {
	var errno unix.Errno
	switch {
	case errors.As(err, &errno):
		return errno.Error()
	case errors.Is(err, errNoArray):
		return errNoArray.Error()
	}
	return err.Error()
}
