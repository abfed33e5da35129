package rules

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/format"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// What the measured halves of rules share. Their score is the share of one item's time in one worker that the change
// would save, in the state that training sees after its first epoch: warm where the dataset fits in memory, cold where
// it does not. What a first epoch alone pays, and what nobody is known to do, costs nothing of that and scores 0.

// plainOverhead and plainSpeed are what reading an item costs when nothing is in the way, and plainLeast how little of
// it that may be.
var (
	plainOverhead = threshold("overhead of reading an item that lies in one piece", 10e-6, metric.Seconds,
		"measured: contiguous and one-item chunks, uncompressed and cached, 1 to 32 KiB: 4 to 12 µs per item (h5py "+
			"3.7, HDF5 1.10.8, Debian)")
	plainSpeed = threshold("speed of reading an item that lies in one piece", 5e9, metric.BytesPerS,
		"measured: the same with items of 0.25 to 8 MiB: 8 to 17 GB/s; less than the least of them, for older "+
			"machines (Debian)")
	plainLeast = threshold("least part of what reading an item that lies in one piece is said to take", 0.25,
		metric.Ratio, "measured: the same with items of 1, 4, 16, 64 and 256 KiB in files of 100 MB: 2.7, 3.5, 5.4, "+
			"8.3 and 20 µs at the least (Debian)")
	layoutError = threshold("error of predicting another chunk shape", 1.5, metric.Count,
		"measured: 48 KiB items, gzip-4: one item per chunk takes 0.38 to 0.40 ms, a 256th of a chunk of 256 items "+
			"0.38 to 0.46 ms (HDF5 1.10.8 to 2.2.0); half as much again for data that compresses less in small chunks")
)

// plain is the time of reading so many bytes that lie in one piece, uncompressed and cached.
func plain(bytes float64) float64 { return plainOverhead.Value + bytes/plainSpeed.Value }

// plainRead is that of an item, as a range.
func plainRead(p *diagnose.Pass) stat.Summary {
	most := plain(p.OrZero(metric.BenchItemBytes))
	return spread(plainLeast.Value*most, most, most)
}

// settled is one item's time in the state training sees after its first epoch, and the word for that state. A rule that
// asks for it needs BenchItem.
func settled(p *diagnose.Pass) (item stat.Summary, state string) {
	v, isCold, _ := diagnose.Settled(p.Evidence)
	if isCold {
		return v.Summary, "cold"
	}
	return v.Summary, "warm"
}

// outgrows reports whether every epoch reads from storage.
func outgrows(p *diagnose.Pass) bool { return diagnose.Outgrows(p.Evidence) }

// outgrown reports whether a dataset that fits in memory no longer does once it is so many times as large.
func outgrown(p *diagnose.Pass, grown float64) bool {
	memory, ok := p.Maybe(metric.BenchMemory)
	return ok && !outgrows(p) && memory*grown > diagnose.MemoryShare.Value
}

// quicker is the effect of an item taking after instead of before, in items per second of one worker; nil where that is
// no gain. A model of a change that saves something never predicts a loss: the noise of what is there now is no effect
// of the change.
func quicker(before, after stat.Summary, basis report.Basis, limit string) *report.Effect {
	if before.Center <= 0 || after.Center <= 0 || after.Center >= before.Center {
		return nil
	}
	const vague = 0.1 // an interval that reaches down to 0 would promise an infinity
	after.Lo = max(after.Lo, vague*after.Center)
	e := &report.Effect{Metric: metric.ItemRate.Name, Unit: string(metric.ItemRate.Unit), Before: 1 / before.Center,
		After: 1 / after.Center, Lo: 1 / after.Hi, Hi: 1 / after.Lo, Basis: basis, Limit: limit}
	if basis != report.Measured {
		e.Lo = max(e.Lo, e.Before)
	}
	return e
}

// clearly is an effect that stands clear of the rate there is now; nil where its interval begins within it.
func clearly(e *report.Effect) *report.Effect {
	if e == nil || e.Lo <= e.Before {
		return nil
	}
	return e
}

// spread is a time between lo and hi with its likely value; all of them above zero.
func spread(lo, center, hi float64) stat.Summary {
	const least = 1e-9 // no item takes less than a nanosecond
	center = max(center, least)
	return stat.Summary{Center: center, Lo: max(min(lo, center), least), Hi: max(hi, center), N: 1}
}

// less is before without a part of it that takes cost; what remains is at least floor. The cost is a part of the same
// time, so that its interval alone is that of what remains.
func less(before, cost, floor stat.Summary) stat.Summary {
	return spread(max(before.Center-cost.Hi, floor.Lo), max(before.Center-cost.Center, floor.Center),
		max(before.Center-cost.Lo, floor.Hi))
}

// more is a time with so many seconds on top.
func more(s stat.Summary, seconds float64) stat.Summary {
	return spread(s.Lo+seconds, s.Center+seconds, s.Hi+seconds)
}

// savedShare is the share of before that after does not take.
func savedShare(before, after float64) float64 {
	if before <= 0 {
		return 0
	}
	return share(1 - after/before)
}

// tried is a layout that --try measured, against the sample as it is; the quickest of those that have one of the names,
// or begin with one that ends in a star. The settled state is compared where both were measured in it, the warm one
// otherwise; a layout that makes the dataset too large for memory is read cold.
func tried(p *diagnose.Pass, names ...string) (t timing, c evidence.Candidate, ok bool) {
	b := p.Bench
	_, state := settled(p)
	for _, x := range b.Candidates {
		for _, name := range names {
			prefix, open := strings.CutSuffix(name, "*")
			if x.Name != name && !(open && strings.HasPrefix(x.Name, prefix)) {
				continue
			}
			was, is := b.AsIs.Item, x.Item
			if state == "cold" && b.AsIs.Cold.N > 0 && x.Cold.N > 0 {
				was, is = b.AsIs.Cold, x.Cold
			}
			if outgrown(p, x.Stored.Center) {
				is = x.Cold // as it will be read; without that figure the candidate says nothing
			}
			if was.N > 0 && is.N > 0 && is.Center > 0 && (!ok || is.Center < t.after.Center) {
				t, c, ok = timing{was.Summary, is.Summary, report.Measured}, x, true
			}
		}
	}
	return
}

// sizeCaveat says what a candidate that was measured does to the size of the dataset; "" where that is not known.
func sizeCaveat(p *diagnose.Pass, c evidence.Candidate) string {
	if c.Stored.N == 0 {
		return ""
	}
	caveat := fmt.Sprintf("it takes %s of the space (measured on the sample)", unit.Percent(c.Stored.Center))
	if outgrown(p, c.Stored.Center) {
		caveat += "; " + outgrownCounted
	}
	return caveat
}

// missing abstains for a signal that only some datasets need.
func missing(p *diagnose.Pass, d metric.Desc) {
	reason, cure := p.WhyMissing(d)
	p.Abstain(cmp.Or(reason, "it was not measured: "+d.Help), cure)
}

// fasterStorage speaks against faster storage by what storage takes of an item; nil where it takes a good part.
func fasterStorage(p *diagnose.Pass) []report.Unhelpful {
	if outgrows(p) {
		waits, ok := p.Maybe(metric.BenchStorage)
		if !ok || waits >= diagnose.Moderate.Value {
			return nil
		}
		return against(fmt.Sprintf("faster storage (NVMe, a RAM disk): it has %s of a cold item's time",
			unit.Percent(waits)), moved)
	}
	return against("faster storage (NVMe, a RAM disk): these times are of reads that the page cache answers", moved)
}

// tooLarge speaks against memory for a dataset that does not fit in it; nil where it does or where that is unknown.
func tooLarge(p *diagnose.Pass) []report.Unhelpful {
	size, room, ok := both(p, metric.DatasetBytes, metric.Available)
	if limit, ok := p.Maybe(metric.MemLimit); ok && limit < room {
		room = limit
	}
	if !ok || !outgrows(p) {
		return nil
	}
	return against(fmt.Sprintf("a copy on tmpfs, or waiting for the page cache: the dataset (%s) does not fit in the "+
		"memory it could have (%s)", unit.Bytes(size), unit.Bytes(room)),
		report.Unhelpful{Setting: moved.Setting, Direction: report.To, To: "memory"}, readAhead)
}

// firstEpoch is the wait that is worth knowing although only a first epoch has it.
var firstEpoch = threshold("a first epoch's wait for storage in one worker", 10, metric.Seconds,
	"derived: a job takes some seconds to start (importing torch alone took 1.7 s, cached; Debian), so that less is "+
		"not noticed")

// firstEpochWaits is an item's time cold and warm; ok: a first epoch alone waits for storage, and is not known to do so
// for less than that: what cold items take beyond warm ones, times the items.
func firstEpochWaits(p *diagnose.Pass) (cold, warm stat.Summary, ok bool) {
	c, _ := p.Evidence.Get(metric.BenchColdItem)
	w, _ := p.Evidence.Get(metric.BenchItem)
	each, files, known := both(p, metric.BenchPerFile, metric.DatasetFileN)
	briefly := known && (c.Center-w.Center)*each*files < firstEpoch.Value
	return c.Summary, w.Summary, p.Get(metric.BenchStorage) >= p.Limit(storageLimit) && !outgrows(p) && !briefly
}

// firstPass is a finding about cold reads of a dataset that fits in memory: only a first epoch pays, so nothing is at
// stake after it.
func firstPass(p *diagnose.Pass, f report.Finding) report.Finding {
	if !outgrows(p) {
		f.Severity, f.Score = report.Info, 0
		f.Summary += "; it fits in memory, so this is the first epoch's alone"
	}
	return f
}

// ofKind is the Applies of measured rules about one kind of data.
func ofKind(kind string) func(*diagnose.Pass) bool {
	return func(p *diagnose.Pass) bool { return p.Facts.DatasetKind == kind }
}

// ofPictures is the Applies of measured rules about pictures.
func ofPictures(p *diagnose.Pass) bool { return format.Kind(p.Facts.DatasetKind).Items().Pictures }

// filtered is the Applies of measured rules about filters.
func filtered(p *diagnose.Pass) bool {
	return p.Facts.DatasetKind == "hdf5" && mayReach(p, metric.HDF5Filters, 1)
}

// inChunks is the Applies of measured rules about chunks.
func inChunks(p *diagnose.Pass) bool { return p.Facts.DatasetKind == "hdf5" && mayHaveChunks(p) }

// What is said of a rewrite whose copy does not fit in memory where the dataset does.
const (
	outgrownCounted = "the copy no longer fits in memory, so that every epoch reads it from storage, which is in the " +
		"figure"
	outgrownUnknown = "the copy no longer fits in memory, so that every epoch reads it from storage: what that takes " +
		"was not measured"
)

// unpacked is an item's time without filters, given what it takes where nothing is fetched that is not fetched now, and
// what to mind. The dataset grows so many times, and now is how many bytes storage delivers for an item where every
// epoch reads from it: it then delivers the rest of the item too, or all of it where the dataset does not fit in memory
// any more. Not ok: storage has a part in it that was not measured.
func unpacked(p *diagnose.Pass, after stat.Summary, grown, now float64) (_ stat.Summary, mind string, ok bool) {
	gone, bytes := outgrown(p, grown), 0.0
	switch item := p.OrZero(metric.BenchItemBytes); {
	case gone:
		mind, bytes = outgrownCounted, item
	case outgrows(p):
		bytes = max(0, item-now)
	}
	if bytes == 0 {
		return after, mind, true
	}
	rate, known := p.Maybe(metric.BenchDeviceBytes)
	if !known || rate <= 0 {
		if gone {
			mind = outgrownUnknown
		}
		return after, mind, !gone
	}
	takes := bytes / rate
	if latency, ok := p.Maybe(metric.BenchLatency); ok && gone {
		takes = max(takes, latency)
	}
	return more(after, takes), mind, true
}
