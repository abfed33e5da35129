package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/pipetune/pipetune/internal/untrusted"
)

// progress tells how far the watch is: a bar on a terminal, a line every half minute in a log, nothing when asked to be quiet.
type progress interface {
	at(elapsed time.Duration)
	done()
}

func newProgress(env Env, quiet bool, total time.Duration, what string) progress {
	what = untrusted.Cut(what, 40).String()
	switch {
	case quiet:
		return silent{}
	case env.StderrTerminal && env.Getenv("CI") == "" && env.Getenv("TERM") != "dumb":
		bar := progressbar.NewOptions64(total.Milliseconds(), progressbar.OptionSetWriter(env.Stderr), progressbar.OptionSetDescription(what),
			progressbar.OptionSetWidth(24), progressbar.OptionClearOnFinish(), progressbar.OptionSetPredictTime(false), progressbar.OptionThrottle(200*time.Millisecond),
			progressbar.OptionSetElapsedTime(false), progressbar.OptionSetTheme(progressbar.ThemeASCII))
		return &barProgress{bar: bar, total: total, what: what, w: env.Stderr}
	}
	return &lineProgress{w: env.Stderr, total: total, what: what, next: lineEvery}
}

type silent struct{}

func (silent) at(time.Duration) {}
func (silent) done()            {}

type barProgress struct {
	bar   *progressbar.ProgressBar
	total time.Duration
	what  string
	w     io.Writer
}

func (p *barProgress) at(elapsed time.Duration) {
	p.bar.Describe(fmt.Sprintf("%s  %2.0f/%.0f s  Ctrl-C: stop and report", p.what, elapsed.Seconds(), p.total.Seconds()))
	// The bar writes to stderr; when that is gone there is nobody left to tell.
	_ = p.bar.Set64(min(elapsed, p.total).Milliseconds())
}

func (p *barProgress) done() { _ = p.bar.Finish() }

// lineEvery is the pace of progress in a log.
const lineEvery = 30 * time.Second

type lineProgress struct {
	w           io.Writer
	total, next time.Duration
	what        string
}

func (p *lineProgress) at(elapsed time.Duration) {
	if elapsed >= p.next {
		note(p.w, fmt.Sprintf("%s  %.0f/%.0f s", p.what, elapsed.Seconds(), p.total.Seconds()))
		p.next += lineEvery
	}
}

func (p *lineProgress) done() {}
