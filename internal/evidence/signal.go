package evidence

import (
	"cmp"
	"strings"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
)

// figure is a derived signal: a value or, where its N is 0, perhaps a reason why there is none.
type figure struct {
	Value
	num, den []float64 // of each window, by which runs are compared; nil where there are none
	why      Reason
}

// Reason is why a signal is absent, and what would cure that; "" is unknown.
type Reason struct{ Text, Cure string }

// ratio is a ratio of sums over the windows, as quotient.
func (b *builder) ratio(num, den []float64) figure {
	return summary(b.Quotient(num, den)).over(num, den)
}

// summary is a figure that was measured.
func summary(s stat.Summary) figure { return figure{Value: Value{Summary: s}} }

// exact is a figure that was read off.
func exact(x float64) figure { return summary(stat.Exact(x)) }

// median is the median of readings.
func median(xs []float64) figure { return summary(stat.Median(xs)) }

// none is no figure, and why.
func none(text, cure string) figure { return figure{why: Reason{text, cure}} }

// by gives a figure another basis than that it was measured.
func (f figure) by(basis metric.Basis) figure {
	f.Basis = basis
	return f
}

// over gives a figure what it is of in each window.
func (f figure) over(num, den []float64) figure {
	f.num, f.den = num, den
	return f
}

// orElse is the figure, or another one where there is none.
func (f figure) orElse(other figure) figure {
	if f.N > 0 {
		return f
	}
	return other
}

// orMore is the greater of two figures.
func (f figure) orMore(s stat.Summary) figure {
	if s.N > 0 && (f.N == 0 || s.Center > f.Center) {
		f.Summary = s
	}
	return f
}

// or gives a figure the reason that stands where it is absent.
func (f figure) or(why Reason) figure {
	f.why = why
	return f
}

// take takes a derived signal and keeps what raw signals it is made from, the one it needs most first: where it is
// absent, and the figure has no reason of its own, theirs stands.
func (b *builder) take(d metric.Desc, f figure, from ...metric.Desc) {
	b.ev.row(d).from = from
	b.set(d, f)
}

// set takes a signal, unless it is no number or nothing is behind it. Ratios are held to 0..1.
func (b *builder) set(d metric.Desc, f figure) {
	s := b.ev.row(d)
	if f.N == 0 || !stat.Finite(f.Center, f.Lo, f.Hi) {
		b.miss(f.why, d)
		return
	}
	if d.Unit == metric.Ratio && d.Name != metric.WorkerCPU.Name {
		f.Summary = stat.Clamped(f.Summary, 0, 1)
	}
	s.figure = f.by(cmp.Or(f.Basis, metric.Measured)).or(Reason{})
}

// perBatch takes one that is counted in batches.
func (b *builder) perBatch(r *rank, d metric.Desc, f figure, from ...metric.Desc) {
	if f.why.Text == "" {
		f.why = r.unbatched()
	}
	b.take(d, f, append(from, metric.LoaderBatches, metric.LoaderTensors)...)
}

// unbatched is why nothing can be determined per batch.
func (r *rank) unbatched() Reason {
	switch {
	case r.samples == nil || r.rate.N > 0: // there is no trainer, or batches were counted
		return Reason{}
	case r.noLoader:
		return Reason{Text: "the trainer has no workers (num_workers=0): no batch passes where it could be counted"}
	}
	return Reason{Text: "no batch was seen to pass: batches are counted by their tensors in shared memory"}
}

// WhyMissing says why a derived signal is absent and what would cure it; both are "" where nothing was noted. It is
// the note on the signal itself, else that on the first of the raw signals it is made from.
func (e *Evidence) WhyMissing(d metric.Desc) (reason, cure string) {
	for i, name := range append([]metric.Desc{d}, e.read(d).from...) {
		for _, u := range e.Unseen {
			if covers(u.Signal, name.Name) {
				return u.Reason, u.Cure
			}
		}
		if why := e.read(d).why; i == 0 && why.Text != "" {
			return why.Text, why.Cure
		}
	}
	return "", ""
}

// covers reports whether a note's signal, a name or a prefix with a star, means this one.
func covers(signal, name string) bool {
	if prefix, starred := strings.CutSuffix(signal, "*"); starred {
		return strings.HasPrefix(name, prefix)
	}
	return signal == name
}
