package predict

// Outcome is what one simulation came to.
type Outcome struct {
	Steps      int
	Rate       float64 // steps per second over whole epochs, what starts and ends them included, pauses left out
	Steady     float64 // steps per second between the first batch of an epoch and its end
	StartShare float64 // of the epoch's time: iter(), the wait for the first batch, and ending workers; 0..1

	Wait      float64 // mean input wait of a step, seconds; the first of each epoch left out where there are others
	WaitRatio float64 // of the time without pauses, first waits included, 0..1

	PauseShare float64 // of all the time, 0..1
}

// settled is the share of a cut-off epoch after which its queue is taken to have its usual depth.
const settled = 0.1

// simulate runs the loader. Where the steps end before the epoch does, the rest of the epoch goes on at the rate seen
// after the queue has settled.
func (e *engine) simulate(c costs, set Setting, d *draws, x extent) Outcome {
	set = set.plain()
	mark := min(max(int(settled*float64(x.steps)), 2*set.outstanding()), x.steps/2)
	mark = x.steps - c.pause.whole(x.steps-mark)
	e.run(c, set, d, x, mark)
	t := &e.tally
	n, trained := len(t.waits), e.t-t.paused
	if n == 0 || trained <= 0 {
		return Outcome{}
	}
	sum := 0.0
	for _, w := range t.waits {
		sum += w
	}
	out := Outcome{Steps: n, PauseShare: t.paused / e.t, WaitRatio: sum / trained}
	usual, later := sum-t.first, n-t.begun
	if later <= 0 {
		usual, later = sum, n
	}
	out.Wait = usual / float64(later)
	if x.epoch > 0 && n%x.epoch == 0 {
		out.Rate = float64(n) / trained
		out.StartShare = t.starting / trained
		out.Steady = out.Rate
		if n > t.begun && set.Workers > 0 {
			out.Steady = float64(n) / (trained - t.starting)
		}
		return out
	}
	out.Steady = float64(n-mark) / (trained - (t.marked - t.unmarked))
	out.Rate = out.Steady
	if x.epoch > 0 {
		ending := c.ending(set)
		all := trained + float64(x.epoch-n)/out.Steady + ending
		out.Rate = float64(x.epoch) / all
		out.StartShare = (t.starting + ending) / all
	}
	return out
}
