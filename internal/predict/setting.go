package predict

import (
	"slices"
	"strconv"
)

// Setting is what a DataLoader is given. With Workers 0 all else is without meaning (PyTorch refuses some of it) and
// is left at zero.
type Setting struct {
	Workers    int  // num_workers
	Prefetch   int  // prefetch_factor; 0 stands for PyTorch's default of 2
	Persistent bool // persistent_workers
	Unordered  bool // in_order=False, from PyTorch 2.6 on: batches come as they are ready
}

// plain returns the setting with what has no meaning or was left to PyTorch filled in.
func (s Setting) plain() Setting {
	if s.Workers <= 0 {
		return Setting{}
	}
	if s.Prefetch <= 0 {
		s.Prefetch = DefaultPrefetch
	}
	return s
}

// outstanding is the most batches that are asked for and not taken yet (_try_put_index of
// torch/utils/data/dataloader.py).
func (s Setting) outstanding() int { return s.Workers * s.Prefetch }

// StartCost is what starting and ending workers takes. The zero value is nothing.
type StartCost struct {
	Trainer float64 // seconds of the trainer per worker: Process.start(), one after the other
	Worker  float64 // seconds of CPU in each worker before its first batch: imports, unpickling the dataset
	End     float64 // seconds of CPU of each worker to end, all at once; the trainer waits for the last
}

// Knob is one setting of a DataLoader, spelled as PyTorch spells it.
type Knob string

// The knobs.
const (
	NumWorkers        Knob = "num_workers"
	PrefetchFactor    Knob = "prefetch_factor"
	PersistentWorkers Knob = "persistent_workers"
	InOrder           Knob = "in_order"
)

// Knobs lists them.
var Knobs = []Knob{NumWorkers, PrefetchFactor, PersistentWorkers, InOrder}

// Value is what a knob is set to, as Python writes it.
func (k Knob) Value(s Setting) string {
	truth := map[bool]string{true: "True", false: "False"}
	switch k {
	case NumWorkers:
		return strconv.Itoa(s.Workers)
	case PrefetchFactor:
		return strconv.Itoa(s.Prefetch)
	case PersistentWorkers:
		return truth[s.Persistent]
	}
	return truth[!s.Unordered]
}

// Turn sets a knob to a value as Python writes it; false, with nothing turned, where it cannot have that value.
func (k Knob) Turn(s Setting, value string) (Setting, bool) {
	n, err := strconv.Atoi(value)
	truth := value == "True" || value == "False"
	switch {
	case k == NumWorkers && err == nil && n >= 0:
		s.Workers = n
	case k == PrefetchFactor && err == nil && n > 0:
		s.Prefetch = n
	case k == PersistentWorkers && truth:
		s.Persistent = value == "True"
	case k == InOrder && truth:
		s.Unordered = value == "False"
	default:
		return s, false
	}
	return s, true
}

// set changes one knob of a setting to what it is in another.
func (k Knob) set(s, to Setting) Setting {
	s, _ = k.Turn(s, k.Value(to))
	return s.plain()
}

// changes are the knobs that lead from one setting to another. From no workers to some, PyTorch's default of
// prefetch_factor is no change of its own; to none, all else loses its meaning.
func changes(from, to Setting) []Knob {
	from, to = from.plain(), to.plain()
	if from.Workers == 0 {
		from.Prefetch = DefaultPrefetch
	}
	return slices.DeleteFunc(slices.Clone(Knobs), func(k Knob) bool {
		return k.Value(from) == k.Value(to) || to.Workers == 0 && k != NumWorkers
	})
}
