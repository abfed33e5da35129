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
	Measured: &diagnose.Measured{
		Needs:   []metric.Desc{metric.BenchItem, metric.BenchDecode},
		Limits:  limits(largeDecode, muchLarger),
		Applies: ofPictures,
		Eval:    oversizedMeasured,
	},
}

func oversizedMeasured(p *diagnose.Pass) error {
	t, c, ok := tried(p, "resized*")
	if !ok {
		if p.Get(metric.BenchDecode) >= p.Limit(largeDecode.Name) {
			p.Abstain("the pictures are large, but what training needs is not known, and no smaller ones were measured", tryCommand(p))
		}
		return nil
	}
	score := t.saved()
	if score < diagnose.Moderate.Value {
		return nil
	}
	severity, at := report.Info, 0.0
	if score >= p.Limit(muchLarger.Name) {
		severity, at = report.Warning, score
	}
	rec := report.Recommendation{Setting: "size of the pictures", To: "what training needs (measured: " + c.Name + ")", Why: "decoding takes time in proportion to the pixels",
		Caveat: "only where training does not use the resolution; keep the originals", Effect: t.effect()}
	if size := sizeCaveat(p, c); size != "" {
		rec.Caveat += "; " + size
	}
	p.Report(report.Finding{
		Severity: severity, Score: at,
		Summary:         fmt.Sprintf("Resized ahead of training, a picture takes %s instead of %s (%s)", unit.Seconds(t.after.Center), unit.Seconds(t.before.Center), c.Name),
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
