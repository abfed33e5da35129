package watched

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/stat"
)

// LoaderCall is the construction of one DataLoader. Empty strings and nil are unknown.
type LoaderCall struct {
	recording.Loader
	Evaluates          bool // asked without gradients
	Made               int  // of the training loop: loaders that the call made, up to the end of the watch
	RecreatedEachEpoch bool // of the training loop: it makes one for each epoch, or most of them
}

// Foreign reports that the hook reported on a loader without the settings that each DataLoader has.
func (c LoaderCall) Foreign() bool { return c.Class != "" && c.NumWorkers == nil }

// readCalls reads how each loader was made.
func readCalls(rec *recording.Recording) map[string]LoaderCall {
	out := map[string]LoaderCall{}
	for entity, m := range recording.Rows[recording.Loader](rec, recording.EventLoader) {
		out[entity] = LoaderCall{Loader: m}
	}
	return out
}

// CallPlace is a call of DataLoader: where it stands and what it was given, sizes left out, for a loader of each task
// may be as long as the task has samples.
type CallPlace struct {
	file, function, class, dataset, sampler, collate string
	line, workers                                    int // workers is -1 where that is not known
	evaluates                                        bool
}

// PlaceOf returns the place of a call, false where it is not known.
func PlaceOf(c LoaderCall) (CallPlace, bool) {
	workers := -1
	if c.NumWorkers != nil {
		workers = *c.NumWorkers
	}
	return CallPlace{c.File, c.Function, c.Class, c.Dataset, c.Sampler, c.Collate, c.Line, workers, c.Evaluates},
		c.File != "" && c.Line > 0
}

// Epoch is one time over a loader.
type Epoch struct {
	Entity string
	recording.Epoch
}

// readEpochs reads the epochs of each loop; one that is reported twice, when it begins and when it ends, is one.
func readEpochs(rec *recording.Recording) map[string][]Epoch {
	epochs := map[string][]Epoch{}
	at := map[Epoch]int{} // by loop and number
	for e, row := range recording.Each[recording.Epoch](rec, recording.EventEpoch) {
		key := Epoch{e.Entity, recording.Epoch{Number: row.Number}}
		i, twice := at[key]
		if !twice {
			i = len(epochs[e.Entity])
			at[key], epochs[e.Entity] = i, append(epochs[e.Entity], key)
		}
		e.Into(&epochs[e.Entity][i].Epoch)
	}
	return epochs
}

// Loops returns the loops of a trainer in order of construction.
func (f *Watch) Loops(a *Process) []string {
	prefix := "loop/" + strings.TrimPrefix(a.Entity, "process/") + "."
	var out []string
	for _, t := range f.Tracks(metric.HookSteps) {
		if n, ok := strings.CutPrefix(t.Entity, prefix); ok && number(n) < maxLoop &&
			(len(out) == 0 || out[len(out)-1] != t.Entity) {
			out = append(out, t.Entity)
		}
	}
	slices.SortFunc(out, func(x, y string) int {
		return cmp.Or(cmp.Compare(LoopNumber(x), LoopNumber(y)), strings.Compare(x, y))
	})
	return out
}

// maxLoop bounds the number of a loop; what has a greater one is no number.
const maxLoop = 1 << 30

// LoopNumber is the last part of a loop's name.
func LoopNumber(entity string) int { return number(entity[strings.LastIndexByte(entity, '.')+1:]) }

// Drawing is how long the trainer drew the indices with which an epoch began, in seconds; false where that is not told
// apart from starting workers. Without workers they are drawn within the wait for the first batch as well, which takes
// making besides.
func (e *Epoch) Drawing(making float64) (float64, bool) {
	switch {
	case making > 0:
		return stat.OrZero(e.Draw) + max(stat.OrZero(e.FirstWait)-making, 0), e.FirstWait != nil
	case e.Draw != nil:
		return *e.Draw, true
	}
	return e.Create, e.WorkersBorn == 0
}
