package evidence

import "slices"

// wholeEpochs is of a stretch what lies between the first beginning of an epoch that starts workers and the last, and
// how many epochs that is: what an epoch begins or ends with is in it as often as what lies between, however the watch
// fell upon them. A stretch with fewer than two beginnings, or too little between them to conclude anything, stays as
// it is: 0 epochs.
func (b *builder) wholeEpochs(steady span) (whole span, epochs int) {
	for _, a := range b.processes.trainers {
		begun := slices.DeleteFunc(b.epochsBegun(a), func(at float64) bool {
			return at < steady.from || at > steady.to
		})
		if len(begun) < 2 {
			continue
		}
		if whole = (span{begun[0], begun[len(begun)-1]}); whole.length() >= LeastSteady {
			return whole, len(begun) - 1
		}
	}
	return steady, 0
}

// epochsBegun is when epochs of a trainer began that started workers anew, in order: those of training as the hook
// reported them, else the births of sets of workers, of which some may be of evaluations. The very first is no restart.
func (b *builder) epochsBegun(a *process) (begun []float64) {
	var epochs []reportedEpoch
	evaluates := false
	for _, e := range b.hookEntities(a) {
		for _, x := range b.epochs[e] {
			evaluates = evaluates || !x.Grad
			if first := x.Number == 0 && loopNumber(e) == 0; x.Grad && x.WorkersBorn > 0 && !first {
				epochs = append(epochs, x)
			}
		}
	}
	if len(epochs) == 0 {
		for i, set := range workerSets(b.processes.of(a)) {
			if i > 0 && set[0].bornInWatch {
				begun = append(begun, set[0].born)
			}
		}
		return begun
	}
	last := epochs[0]
	for _, x := range epochs {
		begun = append(begun, x.Begun)
		if x.Begun > last.Begun {
			last = x
		}
	}
	if last.Drain != nil && !evaluates { // the next has begun, and is reported once its workers are there
		begun = append(begun, last.Begun+last.Wall)
	}
	slices.Sort(begun)
	return begun
}
