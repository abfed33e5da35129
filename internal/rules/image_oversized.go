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
	largeDecode = threshold("decode time of a large picture", 8e-3, metric.Seconds,
		"measured: JPEG of 500 × 375 pixels takes 1.3 to 2.4 ms and one of 1920 × 1080 takes 20 ms, in proportion to "+
			"the pixels; from here on a picture has about a megapixel (Debian)")
	muchLarger = threshold("time that a smaller picture saves", 0.75, metric.Ratio,
		"derived: decoding is in proportion to the pixels, and twice the size in each direction is four times the "+
			"pixels")
)

// What decoding at a smaller size saves of decoding.
var (
	oversizedFrom = threshold("values decoded over values that training takes", 8, metric.Count,
		"derived: at half the size in each direction, a quarter of the values, there are still twice as many as "+
			"training takes, which leaves room for random crops")
	draftLeast = threshold("decode time that draft saves, at the least", 0.14, metric.Ratio,
		"measured: Pillow, JPEG of 0.8 to 12 megapixels of noise, 0.9 bytes a pixel, at half the size 14 to 22 % "+
			"(Debian, 2 CPUs of an AMD EPYC)")
	draftHalf = threshold("decode time that draft saves at half the size, at the most", 0.87, metric.Ratio,
		"measured: Pillow, JPEG of 0.5 to 12 megapixels with hardly any detail, converting to RGB included, 38 to 87 "+
			"% (Debian)")
	draftQuarter = threshold("decode time that draft saves at a quarter of the size, at the most", 0.91, metric.Ratio,
		"measured: the same, 50 to 91 % (Debian)")
	draftMost = threshold("decode time that draft saves at an eighth of the size, at the most", 0.93, metric.Ratio,
		"measured: the same, 57 to 93 %; JPEG of 1600 x 1200 pixels with little detail 4.3 instead of 30 ms (Debian)")
)

// What it saves of resizing them.
var (
	resizeLeast = threshold("time of resizing that draft saves, at the least", 0.62, metric.Ratio,
		"measured: Pillow, JPEG of 0.5 to 12 megapixels to 96 or 224 pixels a side, at half the size 62 to 89 % "+
			"(Debian, 2 CPUs of an AMD EPYC)")
	resizeMost = threshold("time of resizing that draft saves, at the most", 0.99, metric.Ratio,
		"measured: the same, at a quarter 87 to 97 %, at an eighth 93 to 99 %")
)

var imageOversized = diagnose.Rule{
	ID:       "image/oversized",
	Title:    "Pictures are much larger than training needs",
	Resource: report.CPU,
	Needs:    []metric.Desc{metric.MadeItem, metric.MadeDecode, metric.DecodedTimes},
	Limits:   limits(oversizedFrom, draftLeast, draftHalf, draftQuarter, draftMost, resizeLeast, resizeMost),
	Applies:  decodesPictures,
	Explains: []string{"cpu/decode-bound", "cpu/saturated", "loader/workers-too-few", "loader/workers-zero",
		"image/png-decode"},
	Eval: oversized,
	Measured: &diagnose.Measured{
		Needs:   []metric.Desc{metric.BenchItem, metric.BenchDecode},
		Limits:  limits(largeDecode, muchLarger),
		Applies: ofPictures,
		Eval:    oversizedMeasured,
	},
}

// decodesPictures leaves out jobs that read no pictures, as far as that is seen.
func decodesPictures(p *diagnose.Pass) bool {
	decode, told := p.Maybe(metric.MadeDecode)
	return told && decode > 0 || !told && slices.Contains(pictureSuffixes, p.Facts.Extension)
}

// pictureSuffixes are those of files that hold one picture each.
var pictureSuffixes = []string{".jpg", ".jpeg", ".png", ".webp"}

func oversized(p *diagnose.Pass) {
	m, times := madeOf(p), p.Get(metric.DecodedTimes)
	if m.decode+m.resize < diagnose.Moderate.Value || times < p.Limit(oversizedFrom) ||
		p.Stall() < diagnose.Moderate.Value {
		return
	}
	change := report.Recommendation{Setting: "size of the pictures",
		To:     "twice what training takes in each direction, or less",
		Why:    "resized once, ahead of training: decoding takes time in proportion to the pixels",
		Caveat: "only where training does not use the resolution; keep the originals"}
	also, resizing := 0.0, " and resizing them"
	if m.resize <= 0 {
		resizing = ""
		also = m.other // resizing by other libraries, for one, takes time in proportion to the pixels too
	}
	lo, hi := (m.decode+m.resize)*(1-4/times), (m.decode+m.resize+also)*(1-1/times)
	if ext := p.Facts.Extension; ext != ".png" && ext != ".webp" {
		change = report.Recommendation{Setting: "size that a JPEG is decoded at", From: new("as stored"),
			To: "what training takes: image.draft(\"RGB\", (WIDTH, HEIGHT)) before the first use",
			Why: "libjpeg then decodes at a half, a quarter or an eighth, never below what is asked for (OpenCV: " +
				"IMREAD_REDUCED_COLOR_2); pictures resized once, ahead of training, need no such code",
			Caveat: "for JPEG alone; ask for as much as random crops need", Falls: metric.DecodedTimes.Name}
		lo = m.decode*p.Limit(draftLeast) + m.resize*p.Limit(resizeLeast)
		hi = m.decode*p.Limit(draftBy(times)) + m.resize*p.Limit(resizeMost) + also*(1-4/times)
	}
	cause{part: (lo + hi) / 2, lo: lo, hi: hi, change: change,
		summary: fmt.Sprintf("%s times as many values are decoded as training takes, and decoding%s takes %s of the "+
			"%s a worker needs for an item", unit.Number(times), resizing, unit.Percent(m.decode+m.resize),
			unit.Seconds(m.item)),
		seen: seen(p, metric.DecodedTimes, metric.MadeItem, metric.MadeDecode, metric.MadeResize, metric.BatchBytes,
			metric.FileBytes),
		unhelpful: slices.Concat(tooSlowly(p), notStorage(p))}.report(p)
}

// draftBy is the most that draft saves where so many times as many values are decoded as training takes: libjpeg never
// goes below the size that is asked for.
func draftBy(times float64) diagnose.Limit {
	switch {
	case times < 4*4:
		return draftHalf
	case times < 8*8:
		return draftQuarter
	}
	return draftMost
}

func oversizedMeasured(p *diagnose.Pass) {
	t, c, ok := tried(p, "resized*")
	if !ok {
		if p.Get(metric.BenchDecode) >= p.Limit(largeDecode) {
			p.Abstain("the pictures are large, but what training needs is not known, and no smaller ones were measured",
				tryCommand(p))
		}
		return
	}
	score := t.saved()
	if score < diagnose.Moderate.Value {
		return
	}
	severity, at := report.Info, 0.0
	if score >= p.Limit(muchLarger) {
		severity, at = report.Warning, score
	}
	rec := report.Recommendation{Setting: "size of the pictures", To: "what training needs (measured: " + c.Name + ")",
		Why:    "decoding takes time in proportion to the pixels",
		Caveat: "only where training does not use the resolution; keep the originals", Effect: t.effect()}
	if size := sizeCaveat(p, c); size != "" {
		rec.Caveat += "; " + size
	}
	p.Report(report.Finding{
		Severity: severity, Score: at,
		Summary: fmt.Sprintf("Resized ahead of training, a picture takes %s instead of %s (%s)",
			unit.Seconds(t.after.Center), unit.Seconds(t.before.Center), c.Name),
		Evidence: seen(p, metric.BenchItem, metric.BenchDecode, metric.BenchDecodeRatio, metric.FileBytes,
			metric.BenchTryGain),
		Recommendations: []report.Recommendation{rec},
		Unhelpful:       fasterStorage(p),
	})
}

// tryCommand measures other ways to store the dataset, ready to copy.
func tryCommand(p *diagnose.Pass) string {
	if name := p.Facts.Dataset; name != "" {
		return "pipetune bench-io " + diagnose.ShellWord(name) + " --try"
	}
	return "pipetune bench-io DATASET --try"
}
