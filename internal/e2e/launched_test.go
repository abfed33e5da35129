package e2e

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/lint"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/rules"
	"github.com/pipetune/pipetune/pkg/report"
)

// What launch mode promises: exact figures.
const (
	launchSeconds = "20" // a launched job trains so long; its start is not watched
	maxWaitDiff   = 0.01 // of the stop-watch's input wait per step …
	// … or so many seconds of it, where the trainer hardly waits: both clocks add some µs of Python of their own
	waitFloor = 0.0001
)

// launched is what came of one launched job.
type launched struct {
	launchCase
	rep     *report.Report
	rec     *recording.Recording
	outside *report.Report // the same recording without what the hook reported
	own     perStep        // by the trainer's stop-watch
	hook    perStep        // by the hook, over the same stretch
	passed  float64        // batches per second by the stop-watch, over the window of what is seen from outside
	others  float64        // cores that others used meanwhile
	script  string         // the job's source
}

// perStep is what steps took over a stretch.
type perStep struct {
	from, to    float64 // CLOCK_MONOTONIC
	steps, wait float64
}

func (p perStep) mean() float64 { return p.wait / p.steps }

// share is of the time.
func (p perStep) share() float64 { return p.wait / (p.to - p.from) }

func (l launched) row() string {
	outside, place := "absent", "not known"
	if w := l.outside.Verdict.Step.InputWaitRatio; w != nil {
		outside = fmt.Sprintf("%.1f / %.1f %%", 100**w, 100*l.own.share())
	}
	if at := l.location(); at != nil {
		place = fmt.Sprintf("%s:%d", at.File, at.Line)
	}
	rates := fmt.Sprintf("%.2f / %.2f / %.2f", l.rep.Metrics["batches_per_s"].Center,
		l.outside.Metrics["batches_per_s"].Center, l.passed)
	return fmt.Sprintf("%-26s %-24s %-30s %10.3f / %6.3f ms %+7.2f%% %18s %24s %6.2f %s", l.name,
		verdictOf(l.rep), cmp.Or(rulesOf(l.rep, 1), "-"), 1e3*l.hook.mean(), 1e3*l.own.mean(),
		100*(l.hook.mean()/l.own.mean()-1), outside, rates, l.others, place)
}

func (l launched) location() *report.Location {
	if l.rep.Job == nil || l.rep.Job.Loader == nil {
		return nil
	}
	return l.rep.Job.Loader.Location
}

// try holds an attempt to its bounds. The verdict is judged where what was planted showed; what the hook reports holds
// in any case.
func (l launched) try() try {
	t := try{others: l.others, unshown: !l.shows(l.own.share())}
	if !t.unshown {
		l.holdRanked(&t, l.rep)
	}
	if diff := math.Abs(l.hook.mean() - l.own.mean()); diff > max(maxWaitDiff*l.own.mean(), waitFloor) ||
		math.IsNaN(diff) {
		t.wrongFigure("the hook says %.3f ms of input wait per step, the trainer's own stop-watch %.3f ms",
			1e3*l.hook.mean(), 1e3*l.own.mean())
	}
	if diff := math.Abs(l.hook.steps - l.own.steps); diff > 1 {
		t.wrongFigure("the hook counts %.0f steps, the trainer itself %.1f", l.hook.steps, l.own.steps)
	}
	if l.rep.Job.Mode != "launch" || l.rep.Job.Loader == nil || l.rep.Job.Loader.Source != "hook" {
		t.wrongVerdict("mode is %q, and the loader's source is not the hook", l.rep.Job.Mode)
	}
	if want, got := lineOf(l.script, `DataLoader\(`), l.location(); got == nil || got.Line != want ||
		!strings.HasSuffix(got.File, l.file()) {
		t.wrongVerdict("the DataLoader stands at line %d of %s, the report says %+v", want, l.file(), got)
	}
	if l.opensAt != "" {
		l.holdOpens(&t)
	}
	l.holdOutside(&t)
	return t
}

// holdOpens holds the opens of HDF5 files to one an item, and the place they are made at to the source.
func (l launched) holdOpens(t *try) {
	opens, items := total(l.rec, metric.HookOpens), total(l.rec, metric.HookItems)
	if opens != items || items == 0 {
		t.wrongFigure("%.0f opens for %.0f items, want one each", opens, items)
	}
	want := lineOf(l.script[strings.Index(l.script, "def __getitem__"):], l.opensAt) +
		lineOf(l.script, "def __getitem__") - 1
	i := slices.IndexFunc(l.rep.Findings, func(f report.Finding) bool { return f.Rule == l.planted[0] })
	if i < 0 {
		return // reported already
	}
	if at := l.rep.Findings[i].Location; at == nil || at.Line != want || !strings.HasSuffix(at.File, l.file()) {
		t.wrongVerdict("files are opened at line %d of %s, the finding says %+v", want, l.file(), at)
	}
	if err := l.holdSource(t, want); err != nil {
		t.wrongVerdict("what lint says of %s: %v", l.file(), err)
	}
}

// holdOutside holds what is seen from outside against what the hook reports the same time, and against the trainer's
// own stop-watch.
func (l launched) holdOutside(t *try) {
	if l.unseen || l.apart {
		return
	}
	in, out := l.rep.Verdict.Step.InputWaitRatio, l.outside.Verdict.Step.InputWaitRatio
	if in == nil || out == nil || math.Abs(*in-*out) > maxWaitPoints {
		t.wrongFigure("input wait %s %% by the hook, %s %% from outside", ratio(in), ratio(out))
	}
	b, ok := l.rep.Metrics["batches_per_s"]
	o, ok2 := l.outside.Metrics["batches_per_s"]
	if !ok || !ok2 {
		t.wrongFigure("batches/s by the hook: %t, from outside: %t", ok, ok2)
		return
	}
	// Their windows are not the same seconds, and the pace changes from second to second: two estimates of it agree
	// where they are close, or where each lies within what the other leaves open.
	if math.Abs(b.Center-o.Center) > maxBatchesDiff*b.Center && !meet(b, o) {
		t.wrongFigure("%.2f batches/s (%.2f to %.2f) by the hook, %.2f (%.2f to %.2f) from outside", b.Center, b.Lo,
			b.Hi, o.Center, o.Lo, o.Hi)
	}
	// A count is held to the trainer's own over the same seconds, which end with the job: what its workers had made
	// ahead by then was handed over and never taken.
	if diff := math.Abs(o.Center - l.passed); diff > maxBatchesDiff*l.passed+l.ahead() || math.IsNaN(diff) {
		t.wrongFigure("%.2f batches/s from outside, %.2f by the stop-watch over the same seconds", o.Center, l.passed)
	}
}

// ahead is how many batches the workers may hold ready at most, spread over the window.
func (l launched) ahead() float64 {
	loader, window := l.rep.Job.Loader, l.outside.Window
	if loader == nil || loader.NumWorkers == nil || loader.PrefetchFactor == nil || window == nil ||
		window.DurationS <= 0 {
		return 0
	}
	return float64(*loader.NumWorkers**loader.PrefetchFactor) / window.DurationS
}

// meet says whether the intervals of two figures have a value in common. A figure without an interval has none with any
// other.
func meet(a, b report.Metric) bool {
	return a.Confidence > 0 && b.Confidence > 0 && a.Lo <= b.Hi && b.Lo <= a.Hi
}

// lineOf is the number of the first line that matches, from 1; 0 where none does.
func lineOf(source, pattern string) int {
	re := regexp.MustCompile(pattern)
	for i, line := range strings.Split(source, "\n") {
		if re.MatchString(line) {
			return i + 1
		}
	}
	return 0
}

// gather takes a report and its recording together with the job's source, and with the stop-watch over the same
// stretches.
func gather(t *testing.T, c launchCase, rep *report.Report, rec *recording.Recording, stopwatch string) launched {
	t.Helper()
	if rep.Verdict == nil || rep.Window == nil {
		t.Fatal("the report has no verdict or no window")
	}
	l := launched{launchCase: c, rep: rep, rec: rec, outside: reportOn(t, withoutHook(rec)),
		script: string(must.Get(os.ReadFile(filepath.Join("../../testdata/jobs", c.file())))(t))}
	l.align(t, stopwatch)
	l.count(t, stopwatch)
	return l
}

// reportOn judges a recording as `pipetune report` does.
func reportOn(t *testing.T, rec *recording.Recording) *report.Report {
	t.Helper()
	return diagnose.Run(must.Get(evidence.FromRecording(rec))(t), rules.All())
}

// holdSource holds what lint reads on the line of the planted fault to what the run found there: the two are one
// finding.
func (l launched) holdSource(t *try, line int) (err error) {
	python, err := exec.LookPath("python3")
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "pipetune-source-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	name := filepath.Base(l.file())
	if err := os.WriteFile(filepath.Join(folder, name), []byte(l.script), 0o600); err != nil {
		return err
	}
	asked := lint.Request{Python: python, Folder: folder, Files: []string{name}, Least: lint.Likely}
	for _, r := range lint.All() {
		asked.Rules = append(asked.Rules, r.ID)
	}
	result, err := lint.Run(context.Background(), asked)
	if err != nil {
		return err
	}
	result.Mark(asked, l.rep)
	i := slices.IndexFunc(result.Findings, func(f lint.Finding) bool {
		return f.Line == line && f.Confirms == l.planted[0]
	})
	switch {
	case i < 0:
		t.wrongVerdict("lint finds nothing for %s in line %d: %+v", l.planted[0], line, result.Findings)
	case result.Findings[i].Measured == nil || result.Findings[i].Measured.Verdict != lint.Confirmed:
		t.wrongVerdict("%s in line %d is not confirmed by the report: %+v", result.Findings[i].Rule, line,
			result.Findings[i].Measured)
	}
	return nil
}
