// Package exporter offers what a watch sees to Prometheus and OpenTelemetry: the state now as gauges, what it adds up
// to as counters, and the verdict with the signals it rests on. It answers scrapes, and sends to a collector.
//
// A share of time is a gauge for who looks now and then, and a counter of seconds for who wants all of it: between two
// scrapes nothing of a counter is lost. Labels say rank, worker state and device, and no process number, so that a job
// that starts its workers anew for each epoch makes no new series. What is not known is left out, never zero.
package exporter

import (
	"cmp"
	"io"
	"strings"
	"sync"

	"github.com/pipetune/pipetune/internal/live"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/pkg/report"
)

// Exporter holds the last state of one watch. Its methods may be called from any goroutine.
type Exporter struct {
	version string

	mu     sync.Mutex
	job    string
	frame  *live.Frame
	report *report.Report
	over   bool
}

// New offers nothing yet but the program's own version.
func New(version string) *Exporter { return &Exporter{version: version} }

// Job names the job that is watched from now on.
func (e *Exporter) Job(name string) { e.locked(func() { e.job = name }) }

// Frame takes the state now.
func (e *Exporter) Frame(f *live.Frame) { e.locked(func() { e.frame = f }) }

// Judge takes what the watch has come to so far; nil leaves the last.
func (e *Exporter) Judge(r *report.Report) { e.locked(func() { e.report = cmp.Or(r, e.report) }) }

// End takes what it came to in the end; nil leaves the last. What was the state is none any more.
func (e *Exporter) End(r *report.Report) {
	e.locked(func() { e.over, e.frame, e.report = true, nil, cmp.Or(r, e.report) })
}

func (e *Exporter) locked(f func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f()
}

// Text writes it in the text format, as scrapes get it and node_exporter's textfile collector reads it.
func (e *Exporter) Text(w io.Writer) error { return e.collect().write(w) }

func (e *Exporter) collect() *collection {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := &collection{job: e.job, families: map[string]*family{}, taken: map[string]bool{}}
	c.send(gauge, "build_info", "1, with pipetune's version", 1, label{"version", e.version})
	if e.job == "" {
		return c
	}
	c.send(gauge, "watching", "1 while the job is watched, 0 when the watch has ended: then what is left is what it "+
		"came to", oneIf(!e.over))
	if e.frame != nil {
		c.send(gauge, "watch_seconds", "for how long the job has been watched", e.frame.At.Seconds())
		for _, f := range e.frame.Figures {
			c.figure(f)
		}
	}
	if e.report != nil {
		c.report(e.report)
	}
	return c
}

func oneIf(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// figure takes a signal of a frame: the present value, and of a flow what it adds up to.
func (c *collection) figure(f live.Figure) {
	c.taken[f.Signal.Name] = true
	of := []label{{"rank", f.Of.Rank}, {"device", f.Of.Device}, {"state", f.Of.State}}
	if f.Known() {
		c.send(gauge, Name(f.Signal), f.Signal.Help, f.Now, of...)
	}
	if f.Flow {
		c.send(counter, TotalName(f.Signal), "since the watch began, summed over time: "+f.Signal.Help, f.Total, of...)
	}
}

func (c *collection) report(r *report.Report) {
	for _, d := range metric.All() {
		if m, ok := r.Metrics[d.Name]; ok && !c.taken[d.Name] {
			c.send(gauge, Name(d), "by the last verdict: "+d.Help, m.Center)
		}
	}
	if v := r.Verdict; v != nil {
		c.send(gauge, "verdict_info", "1, with what holds the job back by the last verdict", 1,
			label{"class", string(v.Class)}, label{"resource", string(v.Resource)}, label{"rule", v.Rule},
			label{"confidence", string(v.Confidence)})
	}
	for _, f := range r.Findings {
		c.send(gauge, "finding_score", "of each finding of the last verdict: the share of a step's time that is at "+
			"stake", f.Score, label{"rule", f.Rule}, label{"severity", string(f.Severity)})
	}
	for _, g := range r.Host.GPUs {
		if g.OfJob {
			c.send(gauge, "gpu_info", "1, with the name of a GPU that the job uses", 1, label{"device", g.UUID},
				label{"name", g.Name})
		}
	}
}

// units are the endings of signals that Prometheus writes out.
var units = []struct{ short, long string }{{"_per_s", "_per_second"}, {"_s", "_seconds"}, {"_w", "_watts"},
	{"_hz", "_hertz"}}

// Name is a signal's name for Prometheus, without the prefix.
func Name(d metric.Desc) string {
	for _, u := range units {
		if stem, ok := strings.CutSuffix(d.Name, u.short); ok {
			return stem + u.long
		}
	}
	return d.Name
}

// TotalName is the name of what a share or a rate adds up to: seconds, or what comes per second.
func TotalName(d metric.Desc) string {
	if d.Name == metric.Workers.Name {
		return "worker_seconds_total"
	}
	if stem, ok := strings.CutSuffix(d.Name, "_per_s"); ok {
		return stem + "_total"
	}
	for _, suffix := range []string{"_ratio", "_cores"} {
		if stem, ok := strings.CutSuffix(d.Name, suffix); ok {
			return stem + "_seconds_total"
		}
	}
	return d.Name + "_total"
}
