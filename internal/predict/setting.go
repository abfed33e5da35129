package predict

// StartMethod is how worker processes are made, in multiprocessing's own words.
type StartMethod string

// The start methods.
const (
	UnknownStart StartMethod = ""
	Fork         StartMethod = "fork"
	Spawn        StartMethod = "spawn"
	ForkServer   StartMethod = "forkserver"
)

// Setting is what a DataLoader is given. With Workers 0 all else is without meaning (PyTorch refuses some of it) and
// is left at zero.
type Setting struct {
	Workers    int         // num_workers
	Prefetch   int         // prefetch_factor; 0 stands for PyTorch's default of 2
	Persistent bool        // persistent_workers
	Start      StartMethod // multiprocessing_context
	Unordered  bool        // in_order=False, from PyTorch 2.6 on: batches come as they are ready
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

// startsPrograms reports that each epoch's workers begin as new programs, which import all that they need, and not as
// copies of the trainer.
func (s Setting) startsPrograms() bool { return s.Workers > 0 && !s.Persistent && s.Start != Fork }

// outstanding is the most batches that are asked for and not taken yet (_try_put_index of
// torch/utils/data/dataloader.py).
func (s Setting) outstanding() int { return s.Workers * s.Prefetch }

// StartCost is what starting and ending workers takes. The zero value is nothing.
type StartCost struct {
	Trainer float64 // seconds of the trainer per worker: Process.start(), one after the other
	Worker  float64 // seconds of CPU in each worker before its first batch: imports, unpickling the dataset
	End     float64 // seconds of CPU of each worker to end, all at once; the trainer waits for the last
}
