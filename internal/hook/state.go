package hook

import (
	"cmp"
	"path/filepath"
	"slices"
)

// State is what was reported so far. Processes are as this process numbers them, moments are of CLOCK_MONOTONIC.
type State struct {
	Loaded   int       // processes that said hello
	Made     int       // loaders that were reported: made, or gone over
	Refused  int64     // messages from other users, strangers, or without the token
	Off      []Off     // processes in which the hook switched itself off, by process number, the first 256
	Trainers []Trainer // those that made an iterator, by process number
	// why listening ended early, or why the private folder could not be removed; nil where all is well
	Err error
}

// Off is a process in which the hook switched itself off.
type Off struct {
	PID    int
	Reason string // sanitized
}

// Trainer is a process that goes over a DataLoader.
type Trainer struct {
	PID        int    // as this process sees it
	Entity     string // "process/<pid>.<start>"
	Steps      int64  // batches taken, all loaders
	Executable string // of its interpreter, as the job named it
	Call       Call
	Calls      []Call // every place where a loader that was gone over is constructed, Call among them
}

// Call is where the training loop's DataLoader was constructed, as the job named it: for making a patch, never for a
// recording.
type Call struct {
	File   string // absolute; "" where no such loader was reported
	Line   int
	Folder string // the folder the job worked in then
}

// state gathers what was reported so far.
func (l *ledger) state() State {
	s := State{Loaded: l.loaded, Refused: l.refused, Off: slices.Clone(l.offs)}
	for _, lp := range l.loops {
		if lp.made != nil {
			s.Made++
		}
	}
	slices.SortStableFunc(s.Off, func(a, b Off) int { return cmp.Compare(a.PID, b.PID) })
	for _, t := range l.trainers {
		if t.begun == 0 {
			continue
		}
		trainer := Trainer{PID: t.pid, Entity: t.entity, Call: t.call(), Calls: t.calls()}
		if h := t.hello; h != nil {
			trainer.Executable = h.Executable
		}
		for _, lp := range t.loops {
			if lp.steps != nil {
				trainer.Steps += lp.steps.Steps
			}
		}
		s.Trainers = append(s.Trainers, trainer)
	}
	slices.SortStableFunc(s.Trainers, func(a, b Trainer) int { return cmp.Compare(a.PID, b.PID) })
	return s
}

// call is the construction of the training loop's loader: of those asked while gradients are enabled the one with the
// most time, else the one with the most time.
func (p *process) call() Call {
	var best *loop
	for _, lp := range p.loops {
		if !lp.inFile() {
			continue
		}
		if best == nil || lp.trains() && !best.trains() || lp.trains() == best.trains() && lp.time() > best.time() {
			best = lp
		}
	}
	if best == nil {
		return Call{}
	}
	return best.call()
}

// calls are the places where loaders that were gone over are constructed, each once, in the order they were heard of.
func (p *process) calls() []Call {
	var out []Call
	for _, lp := range p.loops {
		if lp.inFile() && !slices.Contains(out, lp.call()) {
			out = append(out, lp.call())
		}
	}
	return out
}

// inFile reports whether the construction of a loader is in a file, and not typed ("<stdin>").
func (lp *loop) inFile() bool { return lp.made != nil && lp.made.File != "" && lp.made.File[0] != '<' }

// call is the construction of a loader that is in a file.
func (lp *loop) call() Call {
	file := lp.made.File
	if !filepath.IsAbs(file) && lp.folder != "" {
		file = filepath.Join(lp.folder, file)
	}
	return Call{File: file, Line: lp.made.Line, Folder: lp.folder}
}
