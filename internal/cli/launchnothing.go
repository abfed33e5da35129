package cli

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/pipetune/pipetune/internal/hook"
	"github.com/pipetune/pipetune/internal/job"
)

// mostExplained bounds how many processes of a job are asked at one look why the hook tells nothing of them.
const mostExplained = 16

// notice keeps why the hook tells nothing of a job that may end before it is watched. The reason that says most stays, of several the latest: a job
// may begin with a shell, and replace its program by another.
func (l *launch) notice(tree *job.Tree) {
	s := &silence{fs: l.fs, socket: l.socket, folder: l.folder, state: l.state}
	for _, p := range tree.Processes[:min(len(tree.Processes), mostExplained)] {
		if why := s.explain(p.ID); why.weight > 0 && why.weight >= l.quiet.weight {
			l.quiet = why
		}
	}
}

// state is what the hook has told; that of no hook where there is no receiver.
func (l *launch) state() hook.State {
	if l.receiver == nil {
		return hook.State{}
	}
	return l.receiver.State()
}

// nothing says why there is no report. The job is none the worse for it, so this is no error; that it could not be looked at is one. A file that
// was asked for and is not written is no note that -q keeps back: an older one of that name would be taken for this job's.
func (l *launch) nothing(err error, failed bool) {
	missing := l.unwritten()
	if l.o.quiet && !failed && missing == "" {
		return
	}
	text := fmt.Sprintf("no report%s: the job ended after %s, and ", missing, time.Since(l.started).Round(100*time.Millisecond))
	switch taken := l.steps(); {
	case err != nil:
		text += err.Error()
	case taken > 0:
		text += fmt.Sprintf("its %d batches were over before they could be watched", taken)
	default:
		text += "nothing in it took a batch or looked like training"
		if why := l.whySilent(); why != "" {
			text += "; the hook told nothing: " + why
		}
	}
	note(l.env.Stderr, text)
}

// unwritten names the files that a report was asked for in, as the rest of "no report"; "" where there are none.
func (l *launch) unwritten() string {
	var names []string
	for _, out := range l.outs {
		if !out.recording && !out.patch {
			names = append(names, "-o "+out.path)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " (" + strings.Join(names, ", ") + ")"
}

// whySilent says why the hook told of no batch, as far as that is known.
func (l *launch) whySilent() string {
	state := l.state()
	switch {
	case len(state.Off) > 0:
		return switchedOff + state.Off[0].Reason
	case state.Loaded > 0:
		return loaded(state)
	}
	return cmp.Or(l.noHook, l.quiet.text)
}
