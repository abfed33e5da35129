package sampler

// rest tells the workers of a loader that is not in use, such as a validation loader with persistent workers during
// training: its workers are idle for minutes and would make the training loader look ahead of its trainer. Nothing
// outside marks which worker belongs to which loader. But the DataLoader gives out its batches in turn, so a worker
// that waits for work while others hand over batch after batch is of another loader.
type rest struct {
	writes  int64
	still   int // Samples since its last write
	others  int // of these, those in which another worker wrote
	dormant bool
}

const (
	// restSamples is how long a worker must have written nothing, in Samples of 250 ms: 10 s.
	restSamples = 40
	// restOthers is in how many of them others must have written: after one slow sample that held all of them up, once.
	restOthers = 3
)

// settle finds the dormant workers; it is called with each Sample. A worker wakes at the first sample that finds it at
// work.
func settle(workers []*loaderWorker) {
	moved := false
	for _, w := range workers {
		moved = moved || w.batches.Writes() != w.rest.writes
	}
	for _, w := range workers {
		r := &w.rest
		if w.batches.Writes() != r.writes {
			*r = rest{writes: w.batches.Writes()}
			continue
		}
		r.still++
		if moved {
			r.others++
		}
		if r.still >= restSamples && r.others >= restOthers {
			r.dormant = true
		}
	}
}

// active counts the workers that are not dormant, or all where all are.
func active(workers []*loaderWorker) int {
	n := 0
	for _, w := range workers {
		if !w.rest.dormant {
			n++
		}
	}
	if n == 0 {
		return len(workers)
	}
	return n
}
