// Package exporter offers what a watch sees to Prometheus: the state now as gauges, what it adds up to as counters, and the verdict with the
// signals it rests on.
//
// A share of time is a gauge for who looks now and then, and a counter of seconds for who wants all of it: between two scrapes nothing of a
// counter is lost. Labels say rank, worker state and device, and no process number, so that a job that starts its workers anew for each epoch
// makes no new series. What is not known is left out, never zero.
package exporter

import (
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/common/expfmt"

	"github.com/pipetune/pipetune/internal/live"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/pkg/report"
)

// Exporter holds the last state of one watch. Its methods may be called from any goroutine.
type Exporter struct {
	registry *prometheus.Registry
	version  string

	mu     sync.Mutex
	job    string
	frame  *live.Frame
	report *report.Report
	over   bool
}

// New offers nothing yet but the program's own version.
func New(version string) *Exporter {
	e := &Exporter{registry: prometheus.NewRegistry(), version: version}
	e.registry.MustRegister(e)
	return e
}

// Job names the job that is watched from now on.
func (e *Exporter) Job(name string) { e.locked(func() { e.job = name }) }

// Frame takes the state now.
func (e *Exporter) Frame(f *live.Frame) { e.locked(func() { e.frame = f }) }

// Judge takes what the watch has come to so far.
func (e *Exporter) Judge(r *report.Report) { e.locked(func() { e.report = r }) }

// End takes what it came to in the end; nil leaves the last. What was the state is none any more.
func (e *Exporter) End(r *report.Report) {
	e.locked(func() {
		e.over, e.frame = true, nil
		if r != nil {
			e.report = r
		}
	})
}

func (e *Exporter) locked(f func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f()
}

// Handler serves it to scrapes.
func (e *Exporter) Handler() http.Handler {
	return promhttp.HandlerFor(e.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError, MaxRequestsInFlight: 4})
}

// Text writes it in the text format, as node_exporter's textfile collector reads it.
func (e *Exporter) Text(w io.Writer) error {
	families, err := e.registry.Gather()
	if err != nil {
		return err
	}
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(w, f); err != nil {
			return err
		}
	}
	return nil
}

// Describe implements prometheus.Collector: which signals there are is known only as they are read.
func (e *Exporter) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (e *Exporter) Collect(to chan<- prometheus.Metric) {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := collection{to: to, job: e.job, taken: map[string]bool{}}
	c.own("build_info", "1, with pipetune's version", 1, []string{"version"}, e.version)
	if e.job == "" {
		return
	}
	c.own("watching", "1 while the job is watched, 0 when the watch has ended: then what is left is what it came to", oneIf(!e.over), nil)
	if e.frame != nil {
		c.own("watch_seconds", "for how long the job has been watched", e.frame.At.Seconds(), nil)
		for _, f := range e.frame.Figures {
			c.figure(f)
		}
	}
	if e.report != nil {
		c.report(e.report)
	}
}

func oneIf(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// collection is one answer to a scrape.
type collection struct {
	to    chan<- prometheus.Metric
	job   string
	taken map[string]bool // names of the signals of frames, which those of reports do not share
}

// send hands over a value.
func (c *collection) send(kind prometheus.ValueType, name, help string, value float64, labels, values []string) {
	jobs := prometheus.Labels{}
	if c.job != "" {
		jobs["job_name"] = c.job
	}
	d := prometheus.NewDesc("pipetune_"+name, help, labels, jobs)
	c.to <- prometheus.MustNewConstMetric(d, kind, value, values...)
}

// own hands over a gauge of pipetune's own.
func (c *collection) own(name, help string, value float64, labels []string, values ...string) {
	c.send(prometheus.GaugeValue, name, help, value, labels, values)
}

// figure hands over a signal of a frame: the present value, and of a flow what it adds up to.
func (c *collection) figure(f live.Figure) {
	var labels, values []string
	for _, l := range [][2]string{{"rank", f.Of.Rank}, {"device", f.Of.Device}, {"state", f.Of.State}} {
		if l[1] != "" {
			labels, values = append(labels, l[0]), append(values, l[1])
		}
	}
	c.taken[f.Signal.Name] = true
	if f.Known() {
		c.send(prometheus.GaugeValue, Name(f.Signal), f.Signal.Help, f.Now, labels, values)
	}
	if f.Flow {
		c.send(prometheus.CounterValue, TotalName(f.Signal), "since the watch began, summed over time: "+f.Signal.Help, f.Total, labels, values)
	}
}

// report hands over a verdict and the signals it rests on.
func (c *collection) report(r *report.Report) {
	for _, d := range metric.All() {
		if m, ok := r.Metrics[d.Name]; ok && !c.taken[d.Name] {
			c.send(prometheus.GaugeValue, Name(d), "by the last verdict: "+d.Help, m.Center, nil, nil)
		}
	}
	if v := r.Verdict; v != nil {
		c.own("verdict_info", "1, with what holds the job back by the last verdict", 1,
			[]string{"class", "resource", "rule", "confidence"}, string(v.Class), string(v.Resource), v.Rule, string(v.Confidence))
	}
	for _, f := range r.Findings {
		c.own("finding_score", "of each finding of the last verdict: the share of a step's time that is at stake", f.Score, []string{"rule", "severity"}, f.Rule, string(f.Severity))
	}
	for _, g := range r.Host.GPUs {
		if g.OfJob {
			c.own("gpu_info", "1, with the name of a GPU that the job uses", 1, []string{"device", "name"}, g.UUID, g.Name)
		}
	}
}

// units are the endings of signals that Prometheus writes out.
var units = []struct{ short, long string }{{"_per_s", "_per_second"}, {"_s", "_seconds"}, {"_w", "_watts"}, {"_hz", "_hertz"}}

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
