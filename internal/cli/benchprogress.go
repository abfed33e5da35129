package cli

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/pipetune/pipetune/internal/untrusted"
)

// benchProgress tells what is being measured and how long it will go on: a bar on a terminal, a line every half minute in a log, nothing when
// asked to be quiet. Its methods may be called from several goroutines.
type benchProgress struct {
	mu     sync.Mutex
	show   func(what string, elapsed time.Duration)
	finish func()
	what   string
	over   bool
}

func newBenchProgress(env Env, quiet bool, budget time.Duration) *benchProgress {
	return newProgressWithin(env, quiet, budget, "Ctrl-C: report")
}

// newSurveyProgress is for the look at the dataset before anything is measured: a million files on a slow mount take half a minute.
func newSurveyProgress(env Env, quiet bool, limit time.Duration) *benchProgress {
	p := newProgressWithin(env, quiet, limit, "Ctrl-C: end")
	p.what = "looking at the dataset"
	return p
}

func newProgressWithin(env Env, quiet bool, budget time.Duration, ending string) *benchProgress {
	p := &benchProgress{what: "starting", show: func(string, time.Duration) {}, finish: func() {}}
	switch {
	case quiet:
	case env.StderrTerminal && env.Getenv("CI") == "" && env.Getenv("TERM") != "dumb":
		p.show, p.finish = benchBar(env.Stderr, budget, ending)
	default:
		p.show = benchLines(env.Stderr, budget)
	}
	return p
}

// step says that something else is measured from now on.
func (p *benchProgress) step(what string, elapsed time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(what) > benchWhat {
		what, _, _ = strings.Cut(what, ",") // the details stand behind it
	}
	p.what = untrusted.Cut(what, benchWhat).String()
	p.at(elapsed)
}

// progressEvery is how often the time that has passed is shown. The first time is a sign of life: it comes within a second.
const progressEvery = 500 * time.Millisecond

// follow ticks until the function returned is called.
func (p *benchProgress) follow() (stop func()) {
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
	}
}

// tick says how much time has passed.
func (p *benchProgress) tick(elapsed time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at(elapsed)
}

func (p *benchProgress) at(elapsed time.Duration) {
	if !p.over {
		p.show(p.what, elapsed)
	}
}

// done takes the bar away. What is said after it is not shown: a late tick must not draw it again.
func (p *benchProgress) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.over {
		p.over = true
		p.finish()
	}
}

// benchWhat bounds the name of a step. With the bar and the time left, a line then keeps to 80 columns.
const benchWhat = 32

// benchBar draws on a terminal.
func benchBar(w io.Writer, budget time.Duration, ending string) (show func(string, time.Duration), finish func()) {
	bar := progressbar.NewOptions64(max(1, budget.Milliseconds()), progressbar.OptionSetWriter(w), progressbar.OptionSetDescription("starting"),
		progressbar.OptionSetWidth(8), progressbar.OptionClearOnFinish(), progressbar.OptionSetPredictTime(false),
		progressbar.OptionSetElapsedTime(false), progressbar.OptionSetTheme(progressbar.ThemeASCII))
	show = func(what string, elapsed time.Duration) {
		bar.Describe(fmt.Sprintf("%-*s %9s  %s", benchWhat, what, timeLeft(budget-elapsed), ending))
		// One step short of the end: at the end the bar would take itself for finished. What it writes goes to stderr; when that is gone
		// there is nobody left to tell.
		_ = bar.Set64(min(elapsed.Milliseconds(), budget.Milliseconds()-1))
	}
	return show, func() { _ = bar.Finish() }
}

// timeLeft writes how long the probes may still take. Beyond the budget they end what they have begun.
func timeLeft(left time.Duration) string {
	if left < time.Second {
		return "finishing"
	}
	return fmt.Sprintf("%.0f s left", left.Seconds())
}

// benchLines writes lines into a log.
func benchLines(w io.Writer, budget time.Duration) func(string, time.Duration) {
	next := lineEvery
	return func(what string, elapsed time.Duration) {
		if elapsed < next {
			return
		}
		note(w, fmt.Sprintf("measuring %s  %.0f/%.0f s", what, elapsed.Seconds(), budget.Seconds()))
		for next <= elapsed {
			next += lineEvery
		}
	}
}
