package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var (
	largeDecode = diagnose.Limit{Name: "decode time of a large picture", Value: 8e-3, Unit: metric.Seconds,
		Source: "measured: JPEG of 500 × 375 pixels takes 1.3 to 2.4 ms and one of 1920 × 1080 takes 20 ms, in proportion to the pixels; from here on a picture has about a megapixel (Debian)"}
	muchLarger = diagnose.Limit{Name: "time that a smaller picture saves", Value: 0.75, Unit: metric.Ratio,
		Source: "derived: decoding is in proportion to the pixels, and twice the size in each direction is four times the pixels"}
)

var imageOversized = diagnose.Rule{
	ID:    "image/oversized",
	Title: "Pictures are much larger than training needs",
	Doc: `
## What it means
Training crops or resizes each picture to a few hundred pixels, and decodes millions to get there, in each epoch again. Decoding takes time in
proportion to the pixels.

## How it is detected
Only bench-io can tell, and only with --try: it resizes a sample as it would be stored for training and measures both. Without it, the size that training
needs is not known, and the rule abstains where pictures are large.

## How to mend it
Resize once, ahead of training, to what the transforms ask for (for crops of 224 pixels, a shorter side of 256), and keep the originals elsewhere. For JPEG,
decoding at a half, a quarter or an eighth of the size (Pillow's draft, OpenCV's IMREAD_REDUCED_COLOR) is quicker without a second copy.

## When it is wrong
Where training uses the resolution: detection of small objects, segmentation, medical and satellite pictures.
`,
	Measured: &diagnose.Measured{
		How: `
--try measures the resized sample the same way. Where it saves three quarters of the time, as a picture of twice the size in each direction does, it is a warning; it
is never more, because what training needs is not known.
`,
		Needs:   []metric.Desc{metric.BenchItem, metric.BenchDecode},
		Limits:  limits(largeDecode, muchLarger),
		Applies: ofKind("image", "tar"),
		Eval:    oversizedMeasured,
	},
}

func oversizedMeasured(p *diagnose.Pass) error {
	before, after, c, ok := tried(p, "resized*")
	if !ok {
		if p.Get(metric.BenchDecode) >= p.Limit(largeDecode.Name) {
			p.Abstain("the pictures are large, but what training needs is not known, and no smaller ones were measured", tryCommand(p))
		}
		return nil
	}
	score := savedShare(before.Center, after.Center)
	if score < diagnose.Moderate.Value {
		return nil
	}
	severity, at := report.Info, 0.0
	if score >= p.Limit(muchLarger.Name) {
		severity, at = report.Warning, score
	}
	rec := report.Recommendation{Setting: "size of the pictures", To: "what training needs (measured: " + c.Name + ")", Why: "decoding takes time in proportion to the pixels",
		Caveat: "only where training does not use the resolution; keep the originals", Effect: quicker(before, after, report.Measured, "")}
	if size := sizeCaveat(p, c); size != "" {
		rec.Caveat += "; " + size
	}
	p.Report(report.Finding{
		Severity: severity, Score: at,
		Summary:         fmt.Sprintf("Resized ahead of training, a picture takes %s instead of %s (%s)", unit.Seconds(after.Center), unit.Seconds(before.Center), c.Name),
		Evidence:        seen(p, metric.BenchItem, metric.BenchDecode, metric.BenchDecodeRatio, metric.FileBytes, metric.BenchTryGain),
		Recommendations: []report.Recommendation{rec},
		Unhelpful:       fasterStorage(p),
	})
	return nil
}

// tryCommand measures other ways to store the dataset, ready to copy.
func tryCommand(p *diagnose.Pass) string {
	if name := p.Evidence.Facts.Dataset; name != "" {
		return "pipetune bench-io " + diagnose.ShellWord(name) + " --try"
	}
	return "pipetune bench-io DATASET --try"
}
