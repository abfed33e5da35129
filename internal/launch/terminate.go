package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/procfs"
)

// How the end of a job that --then terminate has told to end is seen to.
const (
	terminateEvery = 100 * time.Millisecond // what is left of it is looked at
	// terminateGrace is for how long a process may outlive the one above it before it is told to end itself: a
	// launcher that has passed the signal on need not have waited, and a second SIGTERM may cut short what a training
	// does at the first.
	terminateGrace = 2 * time.Second
	// terminatePatience is for how long the end is waited for after the last SIGTERM: torchrun gives its trainings 30
	// s before it kills them.
	terminatePatience = 35 * time.Second
)

// Notes are what there is to say of a job's end.
type Notes struct {
	Minor    []string // may be kept back
	Warnings []string
}

// trainings are those of a job that was told to end, each with what stands between it and the job's first process,
// the topmost first.
type trainings struct {
	lines [][]procfs.ID
	since map[procfs.ID]time.Time // since when a process is known to have outlived all above it
	asked []procfs.ID             // those that were sent SIGTERM
	last  time.Time               // when the last of these was
}

// Terminate asks the job to end: its first process, as a person would. What runs below it is noted before, since a
// launcher or a shell may end and leave its training behind.
func (j *Job) Terminate(ctx context.Context) {
	j.below = trainings{lines: j.linesToTrainings(ctx), since: map[procfs.ID]time.Time{}}
	if !j.Ended() {
		j.process.terminate()
	}
}

// LetEnd gives a job whose trainers have ended by themselves the moment that it needs to end too, so that its status is
// its own and not that of a signal. It is for jobs whose hook acts, and before CloseHook.
func (j *Job) LetEnd() {
	if !j.acted || len(j.receiver.Controls()) > 0 {
		return
	}
	select {
	case <-j.process.gone:
	case <-time.After(terminateGrace):
	}
}

// endsInTime waits for the end of the first process of a job that was told to end; false where it does not end, or the
// person has asked again not to wait.
func (j *Job) endsInTime() bool {
	select {
	case <-j.process.gone:
		return true
	case <-j.hurry:
	case <-time.After(terminatePatience):
	}
	return j.Ended()
}

// linesToTrainings finds the trainings of the job: those that the hook has reported, and those that look like one. What
// outlives a training is counted to it.
func (j *Job) linesToTrainings(ctx context.Context) (lines [][]procfs.ID) {
	known := map[procfs.ID]bool{}
	add := func(pid int, is func(procfs.ID) bool) {
		line := j.kin.line(pid)
		if len(line) == 0 { // the first process itself, or one that has ended
			return
		}
		if last := line[len(line)-1]; !known[last] && is(last) {
			known[last] = true
			lines = append(lines, line)
		}
	}
	for _, t := range j.Hook().Trainers {
		add(t.PID, func(id procfs.ID) bool { return job.Entity(id) == t.Entity })
	}
	if found, err := j.Attach(ctx); err == nil { // else the job has ended, or the hook's word is all there is
		for _, p := range found.Tree().Trainers() {
			add(p.PID, func(id procfs.ID) bool { return id == p.ID })
			// PyTorch's workers end when their parent has. Of those that a server forks (forkserver) that is not the
			// trainer, and they would stay.
			for _, w := range found.Tree().Workers(p.ID) {
				if line := j.kin.line(w.PID); len(line) > 1 && line[len(line)-2] != p.ID {
					add(w.PID, func(id procfs.ID) bool { return id == w.ID })
				}
			}
		}
		found.Close()
	}
	return lines
}

// endTrainings sees to it that the trainings of a job that was told to end do so when its first process has, which
// ended with the status own. It returns the status that pipetune ends with for the job.
func (j *Job) endTrainings(own int) (status int, notes Notes) {
	status, said := terminatedStatus(own, j.Interrupted())
	if said != "" {
		notes.Minor = append(notes.Minor, said)
	}
	ticker := time.NewTicker(terminateEvery)
	defer ticker.Stop()
	for j.below.last = time.Now(); time.Since(j.below.last) < terminatePatience; {
		if j.below.prune(j.fs, time.Now()); len(j.below.lines) == 0 {
			break
		}
		select {
		case <-j.hurry:
			j.below.last = time.Time{}
		case <-ticker.C:
		}
	}
	for _, id := range j.below.asked {
		notes.Minor = append(notes.Minor, fmt.Sprintf("process %d had been left behind by what started it, and was "+
			"sent SIGTERM too", id.PID))
	}
	for _, id := range j.below.tops() {
		notes.Warnings = append(notes.Warnings, fmt.Sprintf("process %d of the job still runs; to end it: kill %d",
			id.PID, id.PID))
	}
	return status, notes
}

// tops are the processes that have outlived all above them, each once.
func (t *trainings) tops() (tops []procfs.ID) {
	for _, line := range t.lines {
		if !slices.Contains(tops, line[0]) {
			tops = append(tops, line[0])
		}
	}
	return tops
}

// prune drops what has ended, and sends SIGTERM to those that have outlived all above them for terminateGrace.
func (t *trainings) prune(fs procfs.FS, now time.Time) {
	var left [][]procfs.ID
	for _, line := range t.lines {
		for len(line) > 0 && !running(fs, line[0]) {
			line = line[1:]
		}
		if len(line) > 0 {
			left = append(left, line)
		}
	}
	t.lines = left
	for _, id := range t.tops() {
		if t.since[id].IsZero() {
			t.since[id] = now
		}
		if now.Sub(t.since[id]) >= terminateGrace && !slices.Contains(t.asked, id) {
			t.asked, t.last = append(t.asked, id), now
			askToEnd(fs, id)
		}
	}
}

// running says whether a process has not ended. One that cannot be read for another reason than that has not, as far
// as is known.
func running(fs procfs.FS, id procfs.ID) bool {
	p, err := fs.OpenID(id)
	if err != nil {
		return !errors.Is(err, procfs.ErrGone)
	}
	defer p.Close()
	var st procfs.Stat
	if err := p.Stat(&st); err != nil {
		return !errors.Is(err, procfs.ErrGone)
	}
	return st.State != 'Z' && st.State != 'X'
}

// askToEnd sends SIGTERM to this very process, not to one that has been given its number since. Where it may not, the
// process goes on, which is reported in the end.
func askToEnd(fs procfs.FS, id procfs.ID) {
	p, _ := os.FindProcess(id.PID) // which holds on to the process where the kernel has pidfds, and never fails
	defer p.Release()
	if running(fs, id) {
		_ = p.Signal(unix.SIGTERM)
	}
}

// terminatedStatus is the status that pipetune ends with for a job that it told to end and that ended with the status
// own: 0, however it took the signal; torchrun ends with 1. said reports a status that is not plainly the signal's
// doing. One that the person asked to end as well keeps its own.
func terminatedStatus(own int, asked bool) (status int, said string) {
	switch {
	case own == signalBase+int(unix.SIGTERM) || own == 0:
		return 0, ""
	case asked:
		return own, ""
	}
	return 0, fmt.Sprintf("the job ended with status %d when --then terminate had told it to end, which counts as 0",
		own)
}
