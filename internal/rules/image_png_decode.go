package rules

import (
	"fmt"
	"slices"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var (
	pngLeast = diagnose.Limit{Name: "decode time that JPEG saves, at the least", Value: 0.31, Unit: metric.Ratio,
		Source: "measured: Pillow, flat graphics, PNG takes 1.45 times as long as JPEG (Debian)"}
	pngMost = diagnose.Limit{Name: "decode time that JPEG saves, at the most", Value: 0.8, Unit: metric.Ratio,
		Source: "measured: Pillow, photographic content, PNG takes 4.5 to 5 times as long as JPEG (500 × 375 pixels, 10.6 against 2.4 ms; Debian)"}
)

var imagePNGDecode = diagnose.Rule{
	ID:       "image/png-decode",
	Title:    "PNG pictures take long to decode",
	Resource: report.CPU,
	Doc: `
## What it means
The dataset is PNG pictures, and the workers spend their time computing. Decoding PNG takes 1.5 times (flat graphics) to 5 times (photographs) as long
as JPEG of the same size.

## How it is detected
Most of the files are .png, the workers run most of their busy time, have none to spare, and the trainer waits. A launched job tells what Pillow and OpenCV take of an
item; other decoders are not timed.

## How to mend it
For photographs: convert once to JPEG of high quality, or to the size training needs. For labels, masks, medical or depth data never: JPEG loses
detail. There, store smaller pictures or arrays, or lower PNG's compression level, or decode with a faster library (OpenCV: 6.4 against Pillow's 10.6 ms).

## When it is wrong
Augmentation may be what takes the time; from outside it cannot be told apart from decoding. bench-io times both formats on one's own files.
`,
	Needs:    []metric.Desc{metric.NumWorkers, metric.WorkerRunning, metric.WorkerBusy},
	Limits:   limits(mostLimit, pngLeast, pngMost),
	Applies:  func(e *evidence.Evidence) bool { return withWorkers(e) && e.Facts.Extension == ".png" },
	Explains: []string{"cpu/decode-bound", "cpu/saturated"},
	Eval: func(p *diagnose.Pass) error {
		split, ok := loadingOf(p)
		if !ok || split.running < p.Limit(mostLimit.Name) || !saturated(p) || p.Stall() < diagnose.Moderate.Value {
			return nil
		}
		decodes, sure := split.running, 0.0 // 0: augmentation may be what takes the time
		summary := fmt.Sprintf("The pictures are PNG, and the workers compute %s of their busy time", unit.Percent(split.running))
		if m, ok := madeOf(p); ok && m.decode > 0 {
			decodes, sure = m.decode, m.decode*p.Limit(pngLeast.Name)
			summary = fmt.Sprintf("The pictures are PNG, and decoding takes %s of the %s a worker needs for an item", unit.Percent(m.decode), unit.Seconds(m.item))
			if decodes < diagnose.Moderate.Value {
				return nil
			}
		}
		lo, hi := decodes*p.Limit(pngLeast.Name), decodes*p.Limit(pngMost.Name)
		score := starved(p) * (lo + hi) / 2
		rec := report.Recommendation{Setting: "picture format", From: text("PNG"), To: "JPEG for photographs, smaller PNG or arrays for the rest",
			Why: "PNG takes 1.5 to 5 times as long to decode", Caveat: "JPEG loses detail: never for labels, masks, medical or depth data"}
		if loader, ok := p.Loader(); ok {
			rec.Effect = loader.Saving(sure, hi)
		}
		p.Report(report.Finding{
			Severity: diagnose.Grade(score), Score: score,
			Summary:         summary,
			Evidence:        seen(p, metric.MadeItem, metric.MadeDecode, metric.WorkerRunning, metric.WorkerBusy, metric.WorkerCPUBatch, metric.FileBytes),
			Recommendations: []report.Recommendation{rec},
			Unhelpful:       slices.Concat(tooSlowly(p), notStorage(p)),
		})
		return nil
	},
	Measured: &diagnose.Measured{
		How: `
Decoding is timed on the dataset's own files. What JPEG would save is what --try measured on a sample of them, or, without it, lies between the published
ratios for flat graphics and for photographs.
`,
		Needs:   []metric.Desc{metric.BenchItem, metric.BenchDecode},
		Limits:  limits(pngLeast, pngMost),
		Applies: func(e *evidence.Evidence) bool { return e.Facts.Extension == ".png" },
		Eval:    pngMeasured,
	},
}

func pngMeasured(p *diagnose.Pass) error {
	before, state := settled(p)
	item := before.Center
	decode, _ := p.Evidence.Get(metric.BenchDecode)
	lo, hi := p.Limit(pngLeast.Name), p.Limit(pngMost.Name)
	after := spread(before.Center-decode.Hi*hi, before.Center-decode.Center*(lo+hi)/2, before.Center-decode.Lo*lo)
	basis := report.Modelled
	was, is, _, ok := tried(p, "jpeg*")
	switch {
	case ok:
		before, after, basis = was, is, report.Measured
	case p.Evidence.Bench != nil && len(p.Evidence.Bench.Formats) > 1:
		p.Abstain("pictures of several formats lie together, and what the PNGs among them take was not told apart", "--try, or bench-io on a folder of PNGs alone")
		return nil
	}
	score := savedShare(before.Center, after.Center)
	if score < diagnose.Moderate.Value {
		return nil
	}
	recs := []report.Recommendation{{Setting: "picture format", From: text("PNG"), To: "JPEG for photographs, smaller PNG or arrays for the rest",
		Why: "JPEG decodes in less of the time", Caveat: "JPEG loses detail: never for labels, masks, medical or depth data", Effect: quicker(before, after, basis, "")}}
	if was, is, c, ok := tried(p, "packed-npy"); ok && savedShare(was.Center, is.Center) >= diagnose.Moderate.Value {
		recs = append(recs, report.Recommendation{Setting: "picture format", From: text("PNG"), To: "one array of decoded pictures", Why: "nothing is left to decode, and nothing is lost",
			Caveat: sizeCaveat(p, c), Effect: quicker(was, is, report.Measured, "")})
	}
	p.Report(report.Finding{
		Severity: diagnose.Grade(score), Score: score,
		Summary:         fmt.Sprintf("Decoding takes %s of an item's %s (%s), and the pictures are PNG", unit.Seconds(decode.Center), unit.Seconds(item), state),
		Evidence:        seen(p, metric.BenchItem, metric.BenchColdItem, metric.BenchDecode, metric.BenchDecodeRatio, metric.BenchPython, metric.FileBytes, metric.BenchTryGain),
		Recommendations: recs,
		Unhelpful:       fasterStorage(p),
	})
	return nil
}
