package probe

import (
	"slices"
	"time"

	"github.com/pipetune/pipetune/internal/dataset"
)

// One call decodes pictures for callTime, by how long the last ones took; after mostCallTime no other is begun, so that
// limits and cancelling wait no longer than that and one picture. Go's runtime makes a call of some 20 ms cheaper than
// many of 0.7 ms: photographs of 500 by 375 took 0.71 ms each, of wall time and of the process's CPU time, against 0.75
// and 0.77 one a call (medians of 15 rounds in turn, one processor for Go, two CPUs of an AMD EPYC).
const (
	callTime     = 20 * time.Millisecond
	mostCallTime = 2 * callTime
	mostPiled    = 16 << 20 // bytes; callTime decodes some 2 MB of photographs
)

// pile is pictures of dataset.EachFormat in memory, to be decoded together.
type pile struct {
	files []byte // one behind the other
	spans []dataset.Span
	at    []int // of each span, in the Items that are asked for
	took  []time.Duration
	most  float64 // bytes that lasted for callTime in the last call; 0 before the first
}

func (p *pile) clear() { p.files, p.spans, p.at = p.files[:0], p.spans[:0], p.at[:0] }

func (p *pile) add(file []byte, at int) {
	from := len(p.files)
	p.files = append(p.files, file...)
	p.spans = append(p.spans, dataset.Span{From: from, To: len(p.files)})
	p.at = append(p.at, at)
}

func (p *pile) enough() bool {
	return len(p.files) > 0 && float64(len(p.files)) >= min(p.most, mostPiled)
}

// drop takes the first of the pile away.
func (p *pile) drop(count int) {
	if count == len(p.spans) {
		p.clear()
		return
	}
	gone := p.spans[count].From
	p.files = slices.Delete(p.files, 0, gone)
	p.spans, p.at = slices.Delete(p.spans, 0, count), slices.Delete(p.at, 0, count)
	for i := range p.spans {
		p.spans[i].From -= gone
		p.spans[i].To -= gone
	}
}

// decodePile decodes in one call what is on the pile: all, unless they last too long or one cannot be decoded.
func (w *state) decodePile(items []int, out *decoded) {
	p := &w.pile
	p.took = slices.Grow(p.took[:0], len(p.spans))[:len(p.spans)]
	done, library, err := w.decoder.DecodeEach(p.files, p.spans, p.took, mostCallTime)
	if done > 0 {
		var total time.Duration
		for _, t := range p.took[:done] {
			total += t
		}
		out.add(dataset.EachFormat, library, done, total)
		p.most = float64(p.spans[done-1].To) * float64(callTime) / float64(max(total, 1))
	}
	if err != nil {
		w.fail(out, items[p.at[done]], err)
		done++
	}
	p.drop(done)
}
