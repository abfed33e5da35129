package predict

// Outcome is what one simulation came to.
type Outcome struct {
	Steps      int
	Rate       float64 // steps per second over whole epochs, what starts and ends them included, pauses left out
	Steady     float64 // steps per second between the first batch of an epoch and its end
	Epoch      float64 // seconds of an epoch, pauses left out; 0 where it never ends
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
	mark := int(settled * float64(x.total()))
	mark = min(max(mark, 2*set.outstanding()), x.total()/2)
	mark = x.total() - c.pause.whole(x.total()-mark)
	e.run(c, set, d, x, mark)
	n := len(e.tally.waits)
	t := &e.tally
	trained := e.t - t.paused
	if n == 0 || trained <= 0 {
		return Outcome{}
	}
	out := Outcome{Steps: n, PauseShare: t.paused / e.t}
	sum := 0.0
	for _, w := range t.waits {
		sum += w
	}
	whole := x.epoch > 0 && n%x.epoch == 0
	if whole {
		out.Rate = float64(n) / trained
		out.Epoch = trained / float64(t.begun)
		out.StartShare = t.starting / trained
		out.Steady = out.Rate
		if inner := n - t.begun; inner > 0 && set.Workers > 0 {
			out.Steady = float64(n) / (trained - t.starting)
		}
		out.WaitRatio = sum / trained
	} else {
		out.Steady = float64(n-mark) / (trained - (t.marked - t.unmarked))
		out.Rate = out.Steady
		out.WaitRatio = sum / trained
		if x.epoch > 0 {
			opening := t.starting
			ending := c.ending(set)
			out.Epoch = trained + float64(x.epoch-n)/out.Steady + ending
			out.Rate = float64(x.epoch) / out.Epoch
			out.StartShare = (opening + ending) / out.Epoch
		}
	}
	usual, later := sum-t.first, n-t.begun
	if later <= 0 {
		usual, later = sum, n
	}
	out.Wait = usual / float64(later)
	return out
}
