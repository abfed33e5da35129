package diagnose

import (
	"fmt"
	"slices"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/internal/step"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// What a watch must offer. A class is given from the first line on, with high confidence only from the second.
const (
	// seconds; ten one-second windows are the fewest whose median has a 95 % interval not set by the extremes
	leastWindow, fairWindow = evidence.LeastSteady, 10.0
	// Share of planned samples. TraceML gives a cause only from 80 % coverage. Below half the moments pipetune itself
	// got a CPU may differ from the others; at a fifth of 50 samples per second a watch of 20 s still has 200, which
	// puts a share within 7 points.
	leastCover, poorCover, fairCover = 0.2, 0.5, 0.8
	fairSteps                        = 20 // TraceML grades nothing critical on fewer steps
	leastSteps                       = 2  // and warns of nothing on fewer than two
	// an interval as wide as the line between no wait and a high one says little
	wideInterval = 0.20
	stoppedShare = 0.5 // of samples
	someStopped  = 0.05
)

// blind says why nothing can be concluded; empty where something can.
func blind(e *evidence.Evidence, s split) []string {
	var why []string
	if s := e.Window.Startup; s.Whole {
		why = append(why, fmt.Sprintf("no step was seen in %s: still starting up, or in one long step, or loading "+
			"and computing in one thread; %s", unit.Seconds(s.To-s.From), s.Doing))
	}
	if still := stoodStill(e, stoppedShare); still != "" {
		why = append(why, still)
	}
	if v, ok := e.Get(metric.WindowTime); ok && v.Center < leastWindow {
		why = append(why, fmt.Sprintf("only %s could be watched after the warm-up, at least %s are needed",
			unit.Seconds(v.Center), unit.Seconds(leastWindow)))
	} else if !ok {
		why = append(why, "no steady stretch was found in the watch")
	}
	if v, ok := e.Get(metric.SampleCoverage); ok && v.Center < leastCover {
		why = append(why, fmt.Sprintf("only %s of the planned samples of the job could be taken",
			unit.Percent(v.Center)))
	}
	if !Training(e) {
		why = append(why, "nothing of a training job was seen: no framework, no loader workers, no data being read, "+
			"no GPU at work")
	}
	switch {
	case e.Facts.OffMain != "" && !setsThePace(e):
		why = append(why, e.Facts.OffMain)
	case e.Facts.OffMain != "":
		// who is always at work sets the pace, however long a step waits
	case !s.seen:
		reason, _ := e.WhyMissing(metric.DataStall)
		if reason == "" {
			reason, _ = e.WhyMissing(metric.InputWait)
		}
		if reason == "" {
			reason = "the trainer's main thread could not be followed"
		}
		why = append(why, "the input wait is unknown: "+reason)
	}
	return why
}

// stoodStill says for which share of the stretch the trainer, or a loader worker, was stopped; "" where that is less
// than least.
func stoodStill(e *evidence.Evidence, least float64) string {
	if v, ok := e.Get(metric.TrainerStopped); ok && v.Center >= least {
		return fmt.Sprintf("the job was stopped or frozen %s of the time", unit.Percent(v.Center))
	}
	length := e.Window.End - e.Window.Start
	if share := e.Window.Halted.Seconds() / length.Seconds(); length > 0 && share >= least {
		return fmt.Sprintf("nothing moved %s of the time", unit.Percent(share))
	}
	return ""
}

// doubts collects what lowers a verdict's confidence.
type doubts struct {
	said []string
	low  bool // one of them alone makes the confidence low
}

func (d *doubts) add(format string, args ...any) {
	d.said = append(d.said, fmt.Sprintf(format, args...))
}

func (d *doubts) heavy(format string, args ...any) {
	d.add(format, args...)
	d.low = true
}

func (d *doubts) level() report.Confidence {
	switch {
	case d.low || len(d.said) > 2:
		return report.Low
	case len(d.said) > 0:
		return report.Medium
	}
	return report.High
}

// confidence says how sure the class is, and why not surer.
func confidence(x *subject, s split, class report.Class, lead *report.Finding) (report.Confidence, []string) {
	var d doubts
	e := x.evidence
	if v, ok := e.Get(metric.WindowTime); ok && v.Center < fairWindow {
		d.add("the steady window is short: %s", unit.Seconds(v.Center))
	}
	if evaluating(e).Mixed {
		d.add("evaluations come too often to tell training's own part of what was seen from outside")
	}
	if e.Window.Kept > 0 {
		d.add("the figures hold %s of what looks like a warm-up: the watch was too short to leave it out",
			unit.Seconds(e.Window.Kept.Seconds()))
	}
	if v, ok := e.Get(metric.SampleCoverage); ok && v.Center < poorCover {
		d.heavy(fewSamples, unit.Percent(v.Center))
	} else if ok && v.Center < fairCover {
		d.add(fewSamples, unit.Percent(v.Center))
	}
	if v, ok := e.Get(metric.SyscallSeen); ok && v.Center < fairCover {
		d.add("what threads wait in could be read in %s of the samples only; states and CPU time stand in for it",
			unit.Percent(v.Center))
	}
	steps(e, &d)
	if s.seen {
		precision(e, s, &d)
	} else {
		d.add("%s", e.Facts.OffMain)
	}
	contradictions(e, s, class, lead, &d)
	if class == report.GPUBound && s.sight == step.NoDevice {
		d.add("no GPU counters were read%s: that the device is the limit is inferred from the main thread sleeping "+
			"outside the loader", because(e.Facts.GPUWhyNot))
	}
	if s.clocked() {
		d.add("no counter of the GPU was read%s: that it lacks data is by the clock of some steps",
			because(e.Facts.GPUWhyNot))
	} else if s.sight == step.Unseen {
		d.heavy("the job has a GPU open and no counter of it was read%s: whether it works meanwhile is unknown",
			because(e.Facts.GPUWhyNot))
	}
	used, counted := e.Get(metric.GPUCount)
	onNone := counted && used.Center == 0
	if class == report.HostBound && s.sight == step.NoDevice && len(e.Header.Host.GPUs) > 0 && !onNone {
		d.add("no GPU counters were read%s: a main thread that spins while it waits for the GPU looks the same",
			because(e.Facts.GPUWhyNot))
	}
	if others, ok := e.Get(metric.GPUOthersBusy); ok && others.Center >= Moderate.Value {
		d.add("processes outside the job compute on its GPUs %s of the time", unit.Percent(stat.Share(others.Center)))
	}
	if delay, ok := TrainerDelay(e); ok && class == report.HostBound && delay >= s.host*Most.Value {
		d.add("most of that time the main thread was ready but had no CPU (%s of the watch)",
			unit.Percent(stat.Share(delay)))
	}
	if class == report.GPUBound && s.stall.Center >= Moderate.Value {
		who := "the GPU sets the pace, and still lacks data"
		if s.sight == step.NoDevice {
			who = "data does not set the pace, and the trainer still waits for it"
		}
		d.add("%s %s of the time", who, unit.Percent(s.stall.Center))
	}
	if class == report.InputBound && lead != nil {
		if x := lead.Effect(); x != nil && x.Before > 0 && x.Hi-x.Before > vagueGain*max(x.Lo-x.Before, 0) &&
			x.Hi > 2*x.Lo {
			d.add("what the first cause costs is known only as a range, as is what its cure brings; narrow it: %s",
				narrower(e))
		}
	}
	if class == report.InputBound && lead == nil && s.seen {
		d.add("no rule explains the wait")
	}
	if l, ok := x.model(); ok && class == report.InputBound && l.Metric != Relative && !l.fits() {
		d.add("%s", l.misses())
	}
	if wide := s.wait.Hi-s.wait.Lo > wideInterval; s.seen && s.workerless && !Hooked(e) &&
		(wide || class == report.InputBound) {
		say := d.add
		if wide {
			say = d.heavy
		}
		say("without workers, loading looks like any other work of the main thread from outside: it takes %s of the "+
			"time", shareRange(s.wait))
	}
	return d.level(), d.said
}

// vagueGain is how many times as high as its lower end the upper end of a gain may be before the cause's part is called
// unknown.
const vagueGain = 5

// narrower is the command that tells more of a cause: the job started by pipetune, or, where that was, other layouts
// of its dataset measured.
func narrower(e *evidence.Evidence) string {
	switch {
	case !Hooked(e) && e.Header.Mode != "launch":
		return "pipetune diagnose -- COMMAND"
	case e.Facts.Dataset == "":
		return "watch for longer, pipetune diagnose --duration 2m -- COMMAND"
	}
	return "pipetune bench-io " + ShellWord(e.Facts.Dataset) + " --try"
}

// unclear is why there is no class where nothing says that data is late: a trainer without workers may be loading, and
// a device cannot be seen.
func unclear(e *evidence.Evidence, s split) string {
	if MayLoad(e) {
		why := fmt.Sprintf("the trainer has no workers (num_workers=0), and from outside loading looks like any other "+
			"work of its main thread: %s to %s of the time may be loading", unit.Percent(s.wait.Lo),
			unit.Percent(s.wait.Hi))
		if e.Header.Mode != "launch" {
			why += "; a job that pipetune launches says itself"
		}
		if s.sight == step.Unseen {
			why += "; and no counter of the GPU that the job has open was read" + because(e.Facts.GPUWhyNot)
		}
		return why
	}
	return "data is ready in time, and no counter of the GPU that the job has open was read" +
		because(e.Facts.GPUWhyNot) + ": a main thread that runs may compute, or spin while it waits for the GPU"
}

// DeviceUnseen reports whether the job has a device open that cannot be read, so that the trainer's wait may lie behind
// its work.
func DeviceUnseen(e *evidence.Evidence) bool { return leadingStep(e).Sight == step.Unseen }

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + reason + ")"
}

// steps doubts a watch that saw few of them.
func steps(e *evidence.Evidence, d *doubts) {
	switch n, ok := e.Steps(); {
	case !ok:
	case n < leastSteps:
		d.heavy("fewer than %d steps were seen", leastSteps)
	case n < fairSteps:
		d.add("only about %.0f steps were seen", n)
	}
}

// precision doubts a data stall whose interval is wide, or lies across the line that decides the class.
func precision(e *evidence.Evidence, s split, d *doubts) {
	w := s.stall
	if w.Confidence == 0 {
		d.add("the %s has no interval: too few independent windows", s.stallName())
		return
	}
	if w.Hi-w.Lo > wideInterval {
		if s.workerless && !Hooked(e) {
			return // that range is told as what it comes from
		}
		why := ""
		if e.Facts.Taken && !Hooked(e) {
			why = "; another thread than the main one seems to take the batches"
		}
		if draws, ok := e.Get(metric.DrawTime); ok && !Hooked(e) {
			why += fmt.Sprintf("; up to %s of each step the main thread runs while the loader holds a batch less than "+
				"it can: a sampler may draw the next one's indices", unit.Seconds(draws.Hi))
		}
		d.add("the %s is uncertain: %s to %s%s", s.stallName(), unit.Percent(w.Lo), unit.Percent(w.Hi), why)
		return
	}
	for _, line := range []float64{Moderate.Value, High.Value} {
		if w.Lo < line && line < w.Hi {
			d.add("the %s, %s, may lie on either side of %s, the line from which it counts as %s", s.stallName(),
				shareRange(w), unit.Percent(line), counts[line])
		}
	}
}

// counts are the words for what lies above a line.
var counts = map[float64]string{Moderate.Value: "moderate", High.Value: "high"}

// fewSamples is said where pipetune did not come to run when it was to, for whatever reason.
const fewSamples = "only %s of the planned samples could be taken: what is short is known less well"

// clocked reports whether no counter of the device was read, and the job's own clock of it says that it starves.
func (s split) clocked() bool { return s.sight == step.Unseen && s.stall.Lo > 0 }

// stallName is what the share that the verdict goes by is called: a data stall needs a device that starves.
func (s split) stallName() string {
	if s.sight == step.NoDevice {
		return "input wait"
	}
	return "data stall"
}

// bothIdle is the share of idle workers from which waiting on both sides is no longer an in-order queue's doing.
const bothIdle = 0.9

// contradictions doubts a verdict that another signal speaks against. Idle workers do not where the first cause was
// found by them.
func contradictions(e *evidence.Evidence, s split, class report.Class, lead *report.Finding, d *doubts) {
	by := lead != nil && slices.ContainsFunc(lead.Evidence, func(v report.Evidence) bool {
		return v.Metric == metric.IdleWhileWaits.Name
	})
	if v, ok := e.Get(metric.IdleWhileWaits); ok && class == report.InputBound && v.Center >= bothIdle &&
		!s.workerless && !by {
		d.add("nearly all workers are idle while the trainer waits: the delay is between them")
	}
	if still := stoodStill(e, someStopped); still != "" {
		d.add("%s", still)
	}
	if e.Window.Ended && e.Header.Mode != "launch" { // a job that was started is watched to its end
		d.add("the job ended while it was watched")
	}
}
