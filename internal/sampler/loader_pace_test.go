package sampler

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestSampleAllocatesNothing keeps the garbage collector out of the loop.
func TestSampleAllocatesNothing(t *testing.T) {
	m := newJob(t, 16)
	m.thread(101, 101, inReadOf5, "folio_wait_bit_common", 'D')
	m.thread(102, 102, inFault, "folio_wait_bit_common", 'D')
	m.thread(103, 103, running, "0", 'R')
	m.thread(104, 104, inReadOf5, "anon_pipe_read", 'S')
	m.link(104, 5, "pipe:[7]")
	w := m.watch()
	w.samples(100)
	if n := testing.AllocsPerRun(200, func() { w.samples(1) }); n != 0 {
		t.Errorf("a sample allocates %v times", n)
	}
}

// TestPaceKeepsItsBudget: samples get rarer as they cost more, and are jittered.
func TestPaceKeepsItsBudget(t *testing.T) {
	p := samplePace{random: rand.New(rand.NewPCG(1, 1)), interval: SampleInterval, least: SampleInterval}
	for _, c := range []struct{ cost, want time.Duration }{
		{40 * time.Microsecond, SampleInterval}, {150 * time.Microsecond, 50 * time.Millisecond},
		{time.Second, slowestSampling},
		{40 * time.Microsecond, SampleInterval},
	} {
		for range len(p.recent) {
			p.took(c.cost, 1)
		}
		if p.interval != c.want {
			t.Errorf("a pass of %v: interval %v, want %v", c.cost, p.interval, c.want)
		}
	}
	var sum time.Duration
	lo, hi := time.Hour, time.Duration(0)
	for range 1000 {
		d := p.next()
		sum, lo, hi = sum+d, min(lo, d), max(hi, d)
	}
	if mean := sum / 1000; mean < 19*time.Millisecond || mean > 21*time.Millisecond || lo > 15*time.Millisecond ||
		hi < 25*time.Millisecond {
		t.Errorf("samples come after %v to %v, %v in the mean", lo, hi, mean)
	}
}

// TestListingsKeepTheirBudget: listings get rarer as they get costlier, and one that was held up by others does not
// make them so.
func TestListingsKeepTheirBudget(t *testing.T) {
	const cheap, costly = 60 * time.Microsecond, 10 * time.Millisecond
	for name, c := range map[string]struct {
		costs []time.Duration
		want  time.Duration // mean until the next
	}{
		"cheap":                         {[]time.Duration{cheap}, listAllEvery},
		"the first is held up":          {[]time.Duration{costly}, listUnsure},
		"the first is held up, no more": {[]time.Duration{costly, cheap}, listAllEvery},
		"each fourth is held up": {[]time.Duration{cheap, cheap, cheap, costly, cheap, cheap, cheap, costly},
			listAllEvery},
		"dear":                          {[]time.Duration{costly, costly, costly, costly}, 5 * time.Second},
		"dear again, after a cheap one": {[]time.Duration{cheap, costly, costly, costly, costly}, 5 * time.Second},
	} {
		p, random := listingPace{}, rand.New(rand.NewPCG(1, 1))
		for _, cost := range c.costs {
			p.after(0, cost, 4, false, false, random)
		}
		if p.next < time.Duration(float64(c.want)*(1-sampleJitter)) ||
			p.next > time.Duration(float64(c.want)*(1+sampleJitter)) {
			t.Errorf("%s: the next after %v, want about %v", name, p.next, c.want)
		}
	}
}

// TestPlannedAtThePaceOfTheMoment: a pass that comes late was planned more than once, one of a slower pace was not.
func TestPlannedAtThePaceOfTheMoment(t *testing.T) {
	p := samplePace{interval: SampleInterval}
	p.passes(10 * SampleInterval)
	p.interval = 2 * SampleInterval
	p.passes(14 * SampleInterval)
	if p.planned != 12 {
		t.Errorf("planned %v samples, want 10 at the first pace and 2 at half of it", p.planned)
	}
}
