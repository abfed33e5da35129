package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pipetune/pipetune/internal/footprint"
	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/live"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/render"
	"github.com/pipetune/pipetune/internal/rules"
	"github.com/pipetune/pipetune/internal/top"
	"github.com/pipetune/pipetune/internal/watch"
	"github.com/pipetune/pipetune/pkg/report"
)

func newTop(env Env) *cobra.Command {
	o := &diagnoseOptions{}
	c := &cobra.Command{
		Use:   "top",
		Short: "watch a training job live, full screen: what it does now, and what holds it back",
		Long: `top shows a running training job second by second: GPU and its memory, what the
trainer waits for, what each loader worker does, batches per second, CPU, memory
and disks, and from the tenth second on the verdict of diagnose on the last
minute, with the change that cures it. It finds the job as diagnose does, and
like it changes nothing: no key does anything to the job.

Keys: q quit, ? help, Tab next view, Space hold still, s save a report.

It needs a terminal; in scripts and logs, diagnose reports without one.`,
		Example: `  pipetune top
  pipetune top --pid 41207 -o run.json -o run.md`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error { return runTop(c.Context(), env, o, c.Flags().Changed("pid")) },
	}
	f := c.Flags()
	o.addJobFlags(c)
	f.StringArrayVarP(&o.outputs, "output", "o", nil, "what the key s writes: `FILE`, format from its suffix: "+
		strings.Join(render.Suffixes(render.Formats()), " ")+
		" (repeatable; default: a new name each time, .json and .md)")
	f.StringVar(&o.color, "color", "auto", "auto, always or never")
	complete(c, "color", colors...)
	return c
}

// endlessInterval is the time between two ticks of a watch without an end: a worker that lives for less than a fifth of
// a second may be missed.
const endlessInterval = 200 * time.Millisecond

// runTop finds the job, and shows it until the person quits.
func runTop(ctx context.Context, env Env, o *diagnoseOptions, pidGiven bool) error {
	o.Duration, o.Warmup, o.Interval, o.quiet = watch.Endless, watch.DefaultWarmup(watch.Endless), endlessInterval, true
	if err := o.check(pidGiven); err != nil {
		return err
	}
	o.formats, o.format = render.Formats(), "text"
	if err := o.showing.check(false); err != nil {
		return err
	}
	if !env.StdinTerminal || !env.StdoutTerminal || env.Getenv("TERM") == "dumb" || env.Getenv("TERM") == "" {
		return fail(exitUsage, "without one: pipetune diagnose; over ssh: ssh -t",
			"top needs a terminal that it can draw on, as input and output (TERM=%s)", env.Getenv("TERM"))
	}
	m, err := o.metrics.open(env)
	if err != nil {
		return err
	}
	defer func() {
		m.env = env // what is said from here on, is said at once
		m.close()
	}()
	asked, stop := handleRequests(env)
	defer stop()
	isolate.RaiseOOMScore()
	if err := roomFor("top", footprint.WatchRoom); err != nil {
		return err
	}
	s, err := newSession(ctx, env, o, asked)
	if err != nil {
		return err
	}
	defer s.Close()
	s.meter = m
	return (&liveView{session: s, o: o}).run(ctx, asked)
}

type liveView struct {
	*session
	o      *diagnoseOptions
	screen *top.Screen
	save   chan struct{} // a report is to be saved; one at a time
	stop   chan os.Signal
	left   chan struct{} // closed when the screen is left
	held   bytes.Buffer  // what is to be said when the screen is the terminal's own again
	last   *report.Report
}

// run watches and draws until the person quits, a signal asks for that, or the terminal is gone.
func (v *liveView) run(ctx context.Context, asked <-chan os.Signal) error {
	stderr, out := v.env.Stderr, v.env.Stdout
	if o, ok := out.(*stdoutWriter); ok {
		out = o.w // the terminal itself
	}
	v.env.Stderr = &v.held
	v.meter.env = v.env
	v.save, v.stop, v.left = make(chan struct{}, 1), make(chan os.Signal, 1), make(chan struct{})
	h := v.Job.Header()
	v.screen = top.New(top.Config{
		In: v.env.Stdin, Out: out, Job: &report.Job{PID: h.PID, Command: h.Command, Ranks: len(h.Trainers)},
		Color: useColor(v.o.color, v.env.Getenv, true), ASCII: !unicodeTerminal(v.env.Getenv),
		Save: func() {
			select {
			case v.save <- struct{}{}:
			default:
			}
		},
	})
	watched := make(chan error, 1)
	go func() { watched <- v.watchOn(ctx) }()
	ended := make(chan os.Signal, 1)
	go func() {
		select {
		case s := <-asked:
			ended <- s
			v.screen.Quit()
		case <-v.left:
		}
	}()
	drawn := v.screen.Run()
	close(v.left)
	v.stop <- os.Interrupt
	err := <-watched
	// Where stderr is gone there is nobody left to tell.
	_, _ = stderr.Write(v.held.Bytes())
	v.env.Stderr = stderr
	select {
	case s := <-ended:
		return quietExit(requestCode(s))
	default:
	}
	switch {
	case err != nil:
		return err
	case drawn != nil:
		return fail(exitUsage, "pipetune diagnose reports without a terminal",
			"the terminal cannot be drawn on any more: %w", drawn)
	}
	return nil
}

// watchOn watches until the job has ended or the screen is left; then it saves reports of what it saw for as long as
// the screen is there.
func (v *liveView) watchOn(ctx context.Context) error {
	v.o.Asked, v.o.Judge, v.o.Now = v.stop, v.interim, func() bool { return len(v.save) > 0 }
	v.o.Frame = func(f *live.Frame) {
		v.screen.Show(f)
		v.meter.frame(f)
	}
	rec, err := v.watch(ctx, v.o, nil)
	if err != nil {
		v.screen.Quit()
		return err
	}
	if rec.End.Reason == recording.EndInterrupted {
		v.meter.end(v.last)
		return nil
	}
	r, err := rules.Judge(rec.From(rec.End.At - watch.LastStretch))
	if err != nil {
		r = v.last
	}
	v.last = r
	v.meter.end(r)
	v.screen.End(r, rec.End.At)
	for {
		select {
		case <-v.save:
			v.write(v.last, errNothingSeen)
		case <-v.left:
			return nil
		}
	}
}

// interim shows what the watch has come to, and saves it where that was asked for.
func (v *liveView) interim(g watch.Interim) {
	if g.Report != nil {
		v.last = g.Report
	}
	v.screen.Judge(g.Report, g.At)
	v.meter.Judge(g.Report)
	select {
	case <-v.save:
		go v.write(g.Report, g.Err) // a disk may take its time
	default:
	}
}

var errNothingSeen = errors.New("too little was seen")

// write writes the report to the files of -o, or to new ones, and says so.
func (v *liveView) write(r *report.Report, why error) {
	if r == nil {
		v.screen.Say(fmt.Sprintf("nothing to save yet: %v", why))
		return
	}
	outs := v.o.outs
	if len(outs) == 0 {
		name := "pipetune-" + time.Now().Format("20060102-150405")
		for _, f := range render.Formats() {
			if f.Name == "json" || f.Name == "md" {
				outs = append(outs, output{path: name + f.Suffix, format: f})
			}
		}
	}
	var names []string
	for _, out := range outs {
		if err := out.write(render.Report(r)); err != nil {
			v.screen.Say(err.Error())
			return
		}
		names = append(names, out.path)
	}
	v.screen.Say("saved " + strings.Join(names, ", "))
}

// unicodeTerminal reports whether the terminal shows more than ASCII, by the locale. The Linux console has a font of
// 512 characters at most.
func unicodeTerminal(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToUpper(getenv(name)); v != "" {
			return (strings.Contains(v, "UTF-8") || strings.Contains(v, "UTF8")) && getenv("TERM") != "linux"
		}
	}
	return false
}
