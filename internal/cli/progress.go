package cli

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/pipetune/pipetune/internal/untrusted"
)

// progress shows what is going on and how long it will take: a bar on a terminal, a line every half minute in a log,
// nothing when asked to be quiet. Its methods may be called from several goroutines.
type progress struct {
	mu     sync.Mutex
	show   func(what string, elapsed time.Duration)
	finish func()
	what   string
	steps  bool // what is under way is shown before the end
	over   bool
}

// progressStyle is how one kind of work shows its progress. what is the part of it that is under way.
type progressStyle struct {
	what  string // at first
	width int    // of the bar
	pace  time.Duration
	bar   func(what string, elapsed, total time.Duration) string
	line  string // before what, in a log
}

// watchProgress is for watching a job.
func watchProgress(pid int) progressStyle {
	return progressStyle{what: "Ctrl-C: stop and report", width: 24, pace: 200 * time.Millisecond,
		line: fmt.Sprintf("pid %d  ", pid),
		bar: func(what string, elapsed, total time.Duration) string {
			return fmt.Sprintf("pid %d  %2.0f/%.0f s  %s", pid, elapsed.Seconds(), total.Seconds(), what)
		}}
}

// benchProgress is for measuring.
func benchProgress() progressStyle { return timeLeft("starting", "Ctrl-C: report") }

// surveyProgress is for the look at the dataset before anything is measured: a million files on a slow mount take
// half a minute.
func surveyProgress() progressStyle { return timeLeft("looking at the dataset", "Ctrl-C: end") }

// mostWhat bounds the name of a step. With the bar and the time left, a line then keeps to 80 columns.
const mostWhat = 32

// timeLeft shows the time left. Beyond the total, probes end what they have begun.
func timeLeft(what, ending string) progressStyle {
	return progressStyle{what: what, width: 8, line: "measuring ", bar: func(what string, elapsed,
		total time.Duration) string {
		left := "finishing"
		if total-elapsed >= time.Second {
			left = fmt.Sprintf("%.0f s left", (total - elapsed).Seconds())
		}
		return fmt.Sprintf("%-*s %9s  %s", mostWhat, what, left, ending)
	}}
}

// lineEvery is the pace of progress in a log.
const lineEvery = 30 * time.Second

func newProgress(env Env, quiet bool, total time.Duration, s progressStyle) *progress {
	p := &progress{what: s.what, show: func(string, time.Duration) {}, finish: func() {}}
	switch {
	case quiet:
	case env.StderrTerminal && env.Getenv("CI") == "" && env.Getenv("TERM") != "dumb":
		line := &bar{w: env.Stderr, width: s.width, pace: s.pace, columns: env.width}
		p.show = func(what string, elapsed time.Duration) {
			line.draw(s.bar(what, elapsed, total), elapsed.Seconds()/max(total.Seconds(), 1e-3))
		}
		p.finish, p.steps = line.clear, true
	default:
		p.steps = total > lineEvery
		next := lineEvery
		p.show = func(what string, elapsed time.Duration) {
			if elapsed < next {
				return
			}
			note(env.Stderr, fmt.Sprintf("%s%s  %.0f/%.0f s", s.line, what, elapsed.Seconds(), total.Seconds()))
			for next <= elapsed {
				next += lineEvery
			}
		}
	}
	return p
}

// step says that something else is under way from now on.
func (p *progress) step(what string, elapsed time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(what) > mostWhat {
		what, _, _ = strings.Cut(what, ",") // the details stand behind it
	}
	p.what = untrusted.Cut(what, mostWhat).String()
	p.at(elapsed)
}

// progressEvery is how often the time that has passed is shown. The first time is a sign of life: it comes within a
// second.
const progressEvery = 500 * time.Millisecond

// follow ticks until the function returned is called, which takes the bar away.
func (p *progress) follow() (done func()) {
	began, ended, gone := time.Now(), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		ticker := time.NewTicker(progressEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ended:
				return
			case <-ticker.C:
				p.tick(time.Since(began))
			}
		}
	}()
	return func() {
		close(ended)
		<-gone
		p.done()
	}
}

// tick says how much time has passed.
func (p *progress) tick(elapsed time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at(elapsed)
}

func (p *progress) at(elapsed time.Duration) {
	if !p.over {
		p.show(p.what, elapsed)
	}
}

// done takes the bar away. What is said after it is not shown: a late tick must not draw it again.
func (p *progress) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.over {
		p.over = true
		p.finish()
	}
}

// bar draws how far a thing is on one line of a terminal, over and over.
type bar struct {
	w     io.Writer
	width int           // of the bar itself, in columns
	pace  time.Duration // between two drawings
	// of the terminal, which a longer line would scroll; 0: not known
	columns func() int
	drawn   time.Time
	shown   int // columns of the last drawing
}

// draw draws the share that is done, behind the words; nothing where it was drawn just before.
func (b *bar) draw(words string, share float64) {
	now := time.Now()
	if now.Sub(b.drawn) < b.pace {
		return
	}
	b.drawn = now
	share = min(max(share, 0), 1)
	line, width, columns := fmt.Sprintf("%s%4.0f%%", words, 100*share), b.width, b.columns()
	if columns > 0 { // it may have been made narrower
		b.shown = min(b.shown, columns-1)
		width = min(width, columns-1-len([]rune(line+" []")))
	}
	if width > 0 {
		done := strings.Repeat("=", int(share*float64(width)))
		if len(done) < width {
			done += ">"
		}
		line += fmt.Sprintf(" [%-*s]", width, done)
	}
	if cut := []rune(line); columns > 0 && len(cut) >= columns {
		line = string(cut[:columns-1])
	}
	// What is written goes to stderr: when that is gone there is nobody left to tell.
	_, _ = fmt.Fprintf(b.w, "\r%-*s", b.shown, line)
	b.shown = max(b.shown, len([]rune(line)))
}

func (b *bar) clear() {
	if b.shown > 0 {
		_, _ = fmt.Fprintf(b.w, "\r%*s\r", b.shown, "")
		b.shown = 0
	}
}
