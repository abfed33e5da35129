package diagnose

import (
	"fmt"
	"strings"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/internal/step"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

func inconclusive(e *evidence.Evidence, why []string) string {
	if e.Facts.OffMain != "" {
		known := headroom(e)
		if known != "" {
			known = " What is known: " + known + "."
		}
		return "What holds the job back is unknown: " + strings.Join(why, "; ") + "." + known
	}
	return "Too little was seen to tell what holds the job back: " + strings.Join(why, "; ") + "."
}

// headroom says how many batches more the loader could give at most, from how busy those are that make them; empty
// where that is unknown. It needs no wait of the trainer's: what is always at work sets the pace, whoever takes its
// batches.
func headroom(e *evidence.Evidence) string {
	share, ok := atWork(e)
	if !ok || share <= 0 {
		return ""
	}
	who := "the thread that makes batches is"
	if e.Facts.Fed != nil {
		who = "who makes the batches, " + FedBy(e) + ", is"
	} else if workers := orZero(e, metric.NumWorkers); workers > 0 {
		who = "its " + unit.Count(int64(workers+0.5), "worker is", "workers are")
	}
	more := "no more batches than it does"
	if times := unit.Number(1 / share); times != "1" {
		more = "at most " + times + " times as many batches"
	}
	return fmt.Sprintf("%s busy %s of the time, so the loader as it is could give %s", who, unit.Percent(share), more)
}

// saysItself are the rules whose summaries would repeat the first sentence of the statement.
var saysItself = map[string]bool{"loader/workers-zero": true, "job/feeders-too-few": true}

// statement says in a few sentences why the class is what it is.
func statement(e *evidence.Evidence, s split, class report.Class, lead *report.Finding) string {
	text := classStatement(e, s, class, lead)
	if v, ok := e.Get(metric.Evaluation); ok && class == report.Balanced && v.Center >= High.Value {
		text += fmt.Sprintf(" That is of training, which stands still %s of all time while the model is evaluated.",
			unit.Percent(v.Center))
	}
	if saves := orZero(e, metric.SaveTime); saves >= High.Value && class != report.InputBound {
		text += fmt.Sprintf(" At least %s of the time training stands still while its main thread writes.",
			unit.Percent(saves))
	}
	if e.Facts.Fed != nil && class != report.InputBound {
		text += " I" + strings.TrimPrefix(fedHow(e), "i") + "."
	}
	return text
}

func classStatement(e *evidence.Evidence, s split, class report.Class, lead *report.Finding) string {
	wait := unit.Percent(s.stall.Center)
	var text string
	switch class {
	case report.InputBound:
		text = starving(e, s)
		if lead != nil && !saysItself[lead.Rule] {
			text += " " + sentence(lead.Summary)
		}
		return text
	case report.GPUBound:
		if v, ok := e.Get(metric.GPUBusy); ok {
			others := ""
			if x := othersCompute(e); x >= Moderate.Value {
				others = fmt.Sprintf(", %s with work of other processes,", unit.Percent(x))
			}
			text = fmt.Sprintf("The GPU is busy %s of the time%s and lacks data %s.", unit.Percent(v.Center),
				others, wait)
			if s.hidden() {
				text += " " + s.behind()
			}
			return text
		}
		if s.sight == step.Unseen {
			return fmt.Sprintf("The trainer waits for its GPU at least %s of the time, and for data %s.",
				unit.Percent(s.blocked), s.waits())
		}
		return fmt.Sprintf("%s. The main thread sleeps outside the loader %s of the time, as it does while a device "+
			"works; no GPU counters confirm it.", s.ready(), unit.Percent(s.device))
	case report.HostBound:
		if cores, ok := ModelOnCPU(e); ok {
			return fmt.Sprintf("%s; the model computes on the CPU: the trainer's native threads use %s cores, more "+
				"than Python alone can.", s.ready(), unit.Number(cores))
		}
		if s.launchBound(e) && lead != nil {
			return fmt.Sprintf("%s. %s", s.ready(), sentence(lead.Summary))
		}
		what := "Python, logging, metrics or copies between steps"
		if s.mayDraw(e) {
			what += ", or a sampler that draws a whole epoch at once, which only a launched watch tells apart"
		}
		if s.sight == step.NoDevice { // what a thread of it runs is not seen
			what = "the model, if it computes there, or Python, logging and metrics"
		}
		text = fmt.Sprintf("%s, but the main thread itself runs on the CPU %s of the time: %s.", s.ready(),
			unit.Percent(s.host), what)
		if TrainsOnCPU(e) {
			what = "the model, and the Python code around it,"
			if MayLoad(e) {
				what = "the model, loading, and the Python code around them"
			}
			text = fmt.Sprintf("%s. The job trains on the CPU, no GPU is open: %s take %s of the time.", s.ready(),
				what, unit.Percent(s.host))
		}
		if delay, ok := TrainerDelay(e); ok && delay >= Moderate.Value {
			text += fmt.Sprintf(" Part of that it is ready to run but has no CPU: %s of the time.",
				unit.Percent(stat.Share(delay)))
		}
		if gil := orZero(e, metric.GILWait); gil >= Moderate.Value {
			text += fmt.Sprintf(" Of all time, it waits %s for Python's global lock (GIL), which another thread of "+
				"its process holds.", unit.Percent(gil))
		}
		return text
	case report.TransferBound:
		text = fmt.Sprintf("Copies to the GPU take %s of the time; it computes %s.", unit.Percent(s.copies),
			unit.Percent(s.device))
		if rx, ok := e.Get(metric.PcieRxRate); ok {
			text += fmt.Sprintf(" The link carries %s.", unit.Format(rx.Center, string(metric.BytesPerS)))
		}
		return text
	}
	switch {
	case max(s.stall.Center, s.host, s.device) < Most.Value:
		return fmt.Sprintf("No single part of the step dominates: %s.", shares(s))
	case s.device >= Most.Value && 1-s.loading <= 1/report.WorthChange: // with that time back, a change is worth it
		lacks := "lacks"
		if s.stall.Lo < Moderate.Value {
			lacks = "may lack"
		}
		return fmt.Sprintf("The device works for most of the step and %s data for some of it: %s.", lacks, shares(s))
	}
	return fmt.Sprintf("Nothing was found that holds the step back: %s.", shares(s))
}

// ready says that data is there, as far as it is.
func (s split) ready() string {
	be, upTo, what := "is ", "", "the trainer waits for it"
	if s.sight == step.Counted {
		what = "the GPU lacks it"
	}
	switch {
	case s.stall.Center >= High.Value && s.sight == step.Counted:
		return "The GPU lacks data " + unit.Percent(s.stall.Center) + " of the time"
	case s.stall.Center >= Moderate.Value:
		be = "is nearly "
	}
	if s.stall.Hi-s.stall.Center > wideInterval {
		be, upTo = "may be ", ", or up to "+unit.Percent(s.stall.Hi)
	}
	return fmt.Sprintf("Data %sready in time (%s %s of the time%s)", be, what, unit.Percent(s.stall.Center), upTo)
}

// starving says how much of the time the device lacks data, or the trainer waits for it, and what the workers do
// meanwhile.
func starving(e *evidence.Evidence, s split) string {
	if !s.seen {
		return "The loader gives all it can: " + headroom(e) + ". How long a step waits for it is not seen."
	}
	if LoadsInAThread(e) {
		waits := ""
		if s.seen && s.wait.Center >= Moderate.Value {
			waits = fmt.Sprintf(", and the main one waits for them %s of the time", unit.Percent(s.wait.Center))
		}
		return "Another thread of the training process makes its batches (num_workers=0)" + waits + "."
	}
	if s.workerless {
		share := unit.Percent(s.stall.Center)
		if !Hooked(e) {
			share = shareRange(s.stall)
		}
		return fmt.Sprintf("The training process loads its data itself (num_workers=0): %s of the time goes to "+
			"loading while nothing else happens.", share)
	}
	who := "The trainer"
	if len(e.Ranks) > 1 {
		who = fmt.Sprintf("The trainer that lacks data most (rank %s, of %d trainers)", e.Ranks[0].Name, len(e.Ranks))
	}
	text := fmt.Sprintf("%s waits for data %s of the time", who, unit.Percent(s.wait.Center))
	if s.sight == step.Counted || s.clocked() {
		idles := "idles for lack of it"
		if othersCompute(e) >= Moderate.Value {
			idles = "has nothing of this job to do for lack of it"
		}
		text += fmt.Sprintf(", and its GPU %s %s", idles, shareRange(s.stall))
	}
	if s.delay >= Moderate.Value {
		text += fmt.Sprintf("; another %s it has no CPU, because loading takes them", unit.Percent(s.delay))
	}
	if s.gil >= Moderate.Value {
		text += fmt.Sprintf("; another %s it waits for Python's global lock (GIL), which threads that load may hold",
			unit.Percent(s.gil))
	}
	workers, ok := e.Get(metric.NumWorkers)
	busy, ok2 := e.Get(metric.WorkerBusy)
	switch {
	case e.Facts.Fed != nil:
		text += "; " + fedHow(e)
	case ok && ok2:
		text += fmt.Sprintf("; its %s busy %s of the time",
			unit.Count(int64(workers.Center+0.5), "worker is", "workers are"), unit.Percent(stat.Share(busy.Center)))
	}
	if s.loading < High.Value {
		text += ": moderately input-bound"
	}
	text += "."
	if lag, ok := Straggler(e); ok && len(e.Ranks) > 1 {
		who := "The other ranks lack data %.0f points less and wait for rank %s at each exchange."
		if len(e.Ranks) == 2 {
			who = "The other rank lacks data %.0f points less and waits for rank %s at each exchange."
		}
		text += " " + fmt.Sprintf(who, 100*lag, e.Ranks[0].Name)
	}
	return text
}

// Straggler is how much more of the time the trainer that lacks data most lacks it than the others do, who then wait
// for it at each exchange; false where that is little, or there are no others.
func Straggler(e *evidence.Evidence) (lag float64, ok bool) {
	spread, known := e.Get(metric.RankStallSpread)
	stall, _ := Stall(e)
	lag = stat.Share(spread.Center)
	return lag, known && lag >= Moderate.Value && stall.Center >= Moderate.Value
}

// shareRange writes a share of which a range is known; one figure where its ends are no more than a point apart.
func shareRange(v evidence.Value) string {
	if v.Hi-v.Lo < 0.015 {
		return unit.Percent((v.Lo + v.Hi) / 2)
	}
	return fmt.Sprintf("%s (%s to %s)", unit.Percent(v.Center), unit.Percent(v.Lo), unit.Percent(v.Hi))
}

// othersCompute is the share of time in which processes outside the job compute on its GPUs; 0 where it is not known.
func othersCompute(e *evidence.Evidence) float64 {
	return stat.Share(orZero(e, metric.GPUOthersBusy))
}

// waits is how much of the time the trainer waits for data: with its range where that comes from bounds.
func (s split) waits() string {
	if s.wait.Basis == metric.Measured {
		return unit.Percent(s.wait.Center)
	}
	return shareRange(s.wait)
}

// behind says that the trainer's wait is no loss.
func (s split) behind() string {
	return fmt.Sprintf("The trainer waits for data %s of the time, but behind work that is already queued: the GPU "+
		"idles %s.", s.waits(), unit.Percent(max(1-s.device, 0)))
}

// mayDraw reports whether some of what the main thread runs may be the drawing of an epoch's order: its wait is a range
// then. Behind a thread that pins, it does not show.
func (s split) mayDraw(e *evidence.Evidence) bool {
	_, pins := e.Get(metric.PinBusy)
	return e.Facts.Fed == nil && !Hooked(e) && (pins || s.wait.Hi-s.wait.Center >= Moderate.Value)
}

// sentence ends a summary, which has no full stop of its own, with one.
func sentence(s string) string { return strings.TrimSuffix(s, ".") + "." }

func shares(s split) string {
	parts := []string{s.stallName() + " " + unit.Percent(s.stall.Center)}
	if s.hostOK {
		parts = append(parts, "CPU work "+unit.Percent(s.host))
	}
	if s.devOK {
		parts = append(parts, "device "+unit.Percent(s.device))
	}
	return strings.Join(parts, ", ")
}
