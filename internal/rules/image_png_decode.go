package rules

import (
	"fmt"
	"slices"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var (
	pngLeast = threshold("decode time that JPEG saves, at the least", 0.31, metric.Ratio,
		"measured: Pillow, flat graphics, PNG takes 1.45 times as long as JPEG (Debian)")
	pngMost = threshold("decode time that JPEG saves, at the most", 0.8, metric.Ratio,
		"measured: Pillow, photographic content, PNG takes 4.5 to 5 times as long as JPEG (500 × 375 pixels, 10.6 "+
			"against 2.4 ms; Debian)")
)

var imagePNGDecode = diagnose.Rule{
	ID:       "image/png-decode",
	Title:    "PNG pictures take long to decode",
	Resource: report.CPU,
	Needs:    []metric.Desc{metric.NumWorkers, metric.WorkerRunning, metric.WorkerBusy},
	Limits:   limits(diagnose.Most, pngLeast, pngMost),
	Applies:  func(p *diagnose.Pass) bool { return withWorkers(p) && p.Facts.Extension == ".png" },
	Explains: []string{"cpu/decode-bound", "cpu/saturated"},
	Eval: func(p *diagnose.Pass) {
		split, ok := loadingOf(p)
		if !ok || split.running < p.Limit(diagnose.Most) || !saturated(p) || p.Stall() < diagnose.Moderate.Value {
			return
		}
		decodes, sure := split.running, 0.0 // 0: augmentation may be what takes the time
		summary := fmt.Sprintf("The pictures are PNG, and the workers compute %s of their busy time",
			unit.Percent(split.running))
		if m := madeOf(p); m.decode > 0 {
			decodes, sure = m.decode, m.decode*p.Limit(pngLeast)
			summary = fmt.Sprintf("The pictures are PNG, and decoding takes %s of the %s a worker needs for an item",
				unit.Percent(m.decode), unit.Seconds(m.item))
			if decodes < diagnose.Moderate.Value {
				return
			}
		}
		lo, hi := decodes*p.Limit(pngLeast), decodes*p.Limit(pngMost)
		cause{part: (lo + hi) / 2, lo: sure, hi: hi, summary: summary,
			change: toJPEG("PNG takes 1.5 to 5 times as long to decode"),
			seen: seen(p, metric.MadeItem, metric.MadeDecode, metric.WorkerRunning, metric.WorkerBusy,
				metric.WorkerCPUBatch, metric.FileBytes),
			unhelpful: slices.Concat(tooSlowly(p), notStorage(p))}.report(p)
	},
	Measured: &diagnose.Measured{
		Needs:   []metric.Desc{metric.BenchItem, metric.BenchDecode},
		Limits:  limits(pngLeast, pngMost),
		Applies: func(p *diagnose.Pass) bool { return p.Facts.Extension == ".png" },
		Eval:    pngMeasured,
	},
}

// toJPEG is what to do about PNG.
func toJPEG(why string) report.Recommendation {
	return report.Recommendation{Setting: "picture format", From: new("PNG"), Why: why,
		To:     "JPEG for photographs, smaller PNG or arrays for the rest",
		Caveat: "JPEG loses detail: never for labels, masks, medical or depth data"}
}

func pngMeasured(p *diagnose.Pass) {
	before, state := settled(p)
	decode, _ := p.Evidence.Get(metric.BenchDecode)
	lo, hi := p.Limit(pngLeast), p.Limit(pngMost)
	after := spread(before.Center-decode.Hi*hi, before.Center-decode.Center*(lo+hi)/2, before.Center-decode.Lo*lo)
	times := timing{before, after, report.Modelled}
	t, _, ok := tried(p, "jpeg*")
	switch {
	case ok:
		times = t
	case len(p.Bench.Formats) > 1:
		p.Abstain("pictures of several formats lie together, and what the PNGs among them take was not separated",
			"--try, or bench-io on a folder of PNGs alone")
		return
	}
	recs := []report.Recommendation{toJPEG("JPEG decodes in less of the time")}
	if t, c, ok := tried(p, "packed-npy"); ok && t.saved() >= diagnose.Moderate.Value {
		recs = append(recs, report.Recommendation{Setting: "picture format", From: new("PNG"),
			To: "one array of decoded pictures", Why: "nothing is left to decode, and nothing is lost",
			Caveat: sizeCaveat(p, c), Effect: t.effect()})
	}
	times.report(p, report.Finding{
		Summary: fmt.Sprintf("Decoding takes %s of an item's %s (%s), and the pictures are PNG",
			unit.Seconds(decode.Center), unit.Seconds(before.Center), state),
		Evidence: seen(p, metric.BenchItem, metric.BenchColdItem, metric.BenchDecode, metric.BenchDecodeRatio,
			metric.BenchPython, metric.FileBytes, metric.BenchTryGain),
		Unhelpful: fasterStorage(p),
	}, recs...)
}
