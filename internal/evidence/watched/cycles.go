package watched

import (
	"cmp"
	"maps"
	"slices"

	"github.com/pipetune/pipetune/internal/stat"
)

const (
	// regular is how many times as long as the shortest the longest of a job's epochs may be: what recurs so
	// irregularly may be training and evaluations in turns.
	regular = 1.5
	// leftOf is the part of a stretch that has to be left. So much is, however it falls upon regular epochs of which
	// two begin in it; less may be an evaluation between two trainings.
	leftOf = 1.0 / 3
	// leastSeenEpochs is how many have to be whole where they are known by births alone: batches are counted late in
	// the first, and one birth may be of an evaluation.
	leastSeenEpochs = 2
)

// wholeEpochs is of a stretch what lies between the first beginning of an epoch that starts workers and the last, and
// how many epochs that is: what an epoch begins or ends with is in it as often as what lies between, however the watch
// fell upon them. The stretch stays as it is, of 0 epochs, where too little of it would be left, and where what begins
// does so irregularly.
func (f *Watch) wholeEpochs(steady Span) (whole Span, epochs int) {
	var begun []float64
	enough := false
	for _, a := range f.Processes.Trainers {
		all, reported := f.epochsBegun(a)
		of := slices.DeleteFunc(all, func(at float64) bool { return at < steady.From || at > steady.To })
		if len(of) > len(begun) {
			begun, enough = of, len(of) > leastSeenEpochs || reported && len(of) > 1
		}
	}
	if !enough {
		return steady, 0
	}
	lasted := stat.Each(len(begun)-1, func(i int) float64 { return begun[i+1] - begun[i] })
	whole = Span{begun[0], begun[len(begun)-1]}
	seen := stat.Sum(Lengths(whole.Without(f.Lost)))
	if seen < max(LeastSteady+fringe, leftOf*steady.Length()) || slices.Max(lasted) > regular*slices.Min(lasted) {
		return steady, 0
	}
	return whole, len(lasted)
}

// epochsBegun is when epochs of a trainer began that started workers anew, in order; the very first is no restart. They
// are those of the loop that trains, as the hook reported them, and the births of sets of workers after the last of
// these, where the job has no other loop: an epoch is reported once it is over. Where the hook reported nothing they
// are all births of whole sets.
func (f *Watch) epochsBegun(a *Process) (begun []float64, reported bool) {
	loop, alone := f.longestLoop(a)
	since := 0.0
	for i, x := range loop {
		if first := i == 0 && x.Number == 0; x.WorkersBorn > 0 && !first {
			begun = append(begun, x.Begun)
		}
		since = max(since, x.Begun+x.Wall)
	}
	if len(loop) > 0 && !alone {
		return begun, true
	}
	sets, before := WorkerSets(f.Processes.Of(a)), 0.0 // when all of the sets before had died
	for i, set := range sets {
		if born := set[0].Born; i > 0 && set[0].BornInWatch && born >= since && before <= born+LateNotice {
			begun = append(begun, born)
		}
		for _, w := range set {
			before = max(before, w.Died)
		}
	}
	return begun, len(loop) > 0
}

// longestLoop is the epochs with gradients of the call that went over its loaders for the longest, in order of their
// beginning, and whether no other call was reported. No epochs: none of the trainer's was reported.
func (f *Watch) longestLoop(a *Process) (epochs []Epoch, alone bool) {
	type place struct {
		CallPlace
		entity string // of a loop whose place is not known
	}
	loops, took := map[place][]Epoch{}, map[place]float64{}
	for _, e := range f.Loops(a) {
		at, known := PlaceOf(f.CallOf[e])
		p := place{CallPlace: at}
		if !known {
			p = place{entity: e}
		}
		for _, x := range f.EpochsOf[e] {
			if loops[p] = append(loops[p], x); x.Grad {
				took[p] += x.Wall
			}
		}
	}
	if len(loops) == 0 {
		return nil, true
	}
	longest := slices.MaxFunc(slices.Collect(maps.Keys(loops)), func(x, y place) int {
		return cmp.Or(cmp.Compare(took[x], took[y]), cmp.Compare(loops[y][0].Begun, loops[x][0].Begun))
	})
	epochs = slices.DeleteFunc(loops[longest], func(x Epoch) bool { return !x.Grad })
	slices.SortStableFunc(epochs, func(x, y Epoch) int { return cmp.Compare(x.Begun, y.Begun) })
	return epochs, len(loops) == 1
}
