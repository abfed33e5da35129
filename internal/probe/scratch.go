package probe

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/untrusted"
)

// scratch is a folder of pipetune's own, in which a sample is written anew. It is removed on every way out; a run that is killed leaves it to
// the next one with the same place, which knows by the lock that nobody uses it.
type scratch struct {
	scratchMade
	session *session
	keeper  *process // holds the lock
	within  []string
	name    string
	key     string
}

// scratchTakes is how long making or emptying a folder may take: a sample is at most some thousand files.
const scratchTakes = 10 * time.Second

// The options that say where a scratch folder is made.
const (
	optionScratch = "--scratch"
	optionOther   = "--compare-path"
)

// scratchIn makes a scratch folder in the first of the places that suits, where so many bytes are free. option is the one that named the
// places, "" for none; avoid is the dataset's folder, nil where the person named the place. remove is to be called where there is no error.
func (s *session) scratchIn(ctx context.Context, option string, within []string, avoid []byte, bytes int64) (*scratch, error) {
	for i, place := range within {
		if full, err := filepath.Abs(place); err == nil { // a child's working folder is another one
			within[i] = full
		}
	}
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails (crypto/rand)
	k := &scratch{session: s, within: within, name: fmt.Sprintf("pipetune-%d-%s", os.Getpid(), hex.EncodeToString(random[:]))}
	k.key = cmp.Or(option, "scratch in") + " " + strings.Join(within, ", ")
	k.keeper = s.keeper(k.key, within)
	made, err := ask[scratchAsk, scratchMade](ctx, k.keeper, workMakeScratch, scratchAsk{Within: within, Name: k.name, Avoid: avoid, Bytes: bytes, Spare: s.spare()})
	if err != nil {
		k.remove(ctx) // it may have been made after all, and the answer lost
		if option != "" {
			err = fmt.Errorf("%s: %w", option, err)
		}
		return nil, err
	}
	k.scratchMade, k.within = made, []string{filepath.Dir(string(made.Path))}
	if made.Removed > 0 {
		s.warn(fmt.Sprintf("removed %s left in %s by runs that were killed", several(made.Removed, "scratch folder", "scratch folders"), untrusted.String(filepath.Dir(string(made.Path)))))
	}
	return k, nil
}

// on has processes that are begun inside of do blame another place than the dataset when they get stuck.
func (s *session) on(key string, do func()) {
	was := s.options.Key
	s.options.Key = key
	defer func() { s.options.Key = was }()
	do()
}

// trySample is the most of a sample that is written anew, decoded.
const trySample = 256 << 20

// scratchFileBytes is the most that one file in a scratch folder may have: a sample of trySample decoded, with room for what layouts add.
const scratchFileBytes = 2 * trySample

// keeper begins the worker process that makes, locks and removes a scratch folder in one of the places.
func (s *session) keeper(key string, within []string) *process {
	spec := isolate.Spec{Task: Task, Key: key, Timeout: scratchTakes + slowest, Write: within, Limits: isolate.Limits{MemoryBytes: WorkerMemory, OpenFiles: 1024}}
	return &process{child: s.runner.Child(spec), given: &s.sample, knows: true} // it needs no sample
}

// writer begins a worker process that may write files of so many bytes each into a folder. The key is the dataset's: it reads from there.
func (s *session) writer(into []byte, takes time.Duration, fileBytes int64) *process {
	only := s.readable(&s.sample)
	if only == nil {
		only = []string{"/"}
	}
	spec := isolate.Spec{Task: Task, Key: s.options.Key, Timeout: takes + slowest, Only: only, Write: []string{string(into)},
		Limits: isolate.Limits{MemoryBytes: WorkerMemory, OpenFiles: 1024, FileBytes: fileBytes}}
	return &process{child: s.runner.Child(spec), given: &s.sample}
}

// empty removes what is in the folder.
func (k *scratch) empty(ctx context.Context) error { return k.clear(ctx, true) }

// remove removes the folder, also when the context has ended, and ends the lock. What stays behind is said.
func (k *scratch) remove(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), scratchTakes)
	defer cancel()
	if err := k.clear(ctx, false); err != nil {
		k.session.warn(fmt.Sprintf("a scratch folder may be left behind: %s in %s: %s", k.name, untrusted.String(strings.Join(k.within, " or ")), untrusted.Cut(err.Error(), 300)))
	}
	k.keeper.close()
}

func (k *scratch) clear(ctx context.Context, empty bool) error {
	k.keeper.knows = true
	_, err := ask[scratchGone, struct{}](ctx, k.keeper, workRemoveScratch, scratchGone{Within: k.within, Name: k.name, Empty: empty})
	return err
}

// places are where a scratch folder may be made: where the person said, else below the usual places for temporary files.
func (s *session) places() []string {
	if s.options.Scratch != "" {
		return []string{s.options.Scratch}
	}
	places := []string{os.TempDir()}
	for _, p := range []string{"/tmp", "/var/tmp"} {
		if p != places[0] {
			places = append(places, p)
		}
	}
	return places
}

// folder is the folder that all files of the sample lie in.
func folder(sample dataset.Sample) string {
	common := ""
	for i, f := range sample.Files {
		dir := filepath.Dir(string(f.Path))
		if i == 0 {
			common = dir
		}
		for common != "/" && common != "." && dir != common && !strings.HasPrefix(dir, common+"/") {
			common = filepath.Dir(common)
		}
	}
	return common
}
