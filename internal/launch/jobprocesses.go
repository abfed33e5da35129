package launch

import (
	"slices"
	"sync"

	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/procfs"
)

// jobProcesses says which processes belong to a launched job: its first one, and whoever descends from a process that
// was found to belong to it. It remembers, so that a trainer whose launcher has ended stays one of the job. It may be
// asked from any goroutine.
type jobProcesses struct {
	fs    procfs.FS
	mu    sync.Mutex
	first int // process number of the job's first process; 0: not started yet
	known map[procfs.ID]bool
}

// root names the job's first process, a child that has not been collected.
func (k *jobProcesses) root(pid int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.first = pid
}

// identify implements hook.Config.Identify.
func (k *jobProcesses) identify(pid int) (entity string, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var line []procfs.ID
	for id := range job.Above(k.fs, pid) {
		line = append(line, id)
		if id.PID == k.first || k.known[id] {
			for _, id := range line {
				k.known[id] = true
			}
			return job.Entity(line[0]), true
		}
	}
	return "", false
}

// line is a process of the job and those above it, the topmost first; the job's first process is left out. Where
// those between have ended, it is what is left below. It is empty for a process that is not of the job.
func (k *jobProcesses) line(pid int) (line []procfs.ID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	of := 0 // how many of them are known to be of the job
	for id, parent := range job.Above(k.fs, pid) {
		if id.PID == k.first {
			break
		}
		line = append(line, id)
		if k.known[id] || parent == k.first {
			of = len(line)
		}
	}
	line = line[:of]
	slices.Reverse(line)
	return line
}
