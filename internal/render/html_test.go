package render

import (
	"bytes"
	"math"
	"testing"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/timeline"
)

// TestPageOfADayIsBounded: a timeline with all there may be in it makes a page of less than 2 MB.
func TestPageOfADayIsBounded(t *testing.T) {
	day := &timeline.Timeline{To: 86400, Window: 24, Per: 15, Steady: timeline.Span{From: 300, To: 86400},
		Workers: &timeline.Workers{Of: "worker", All: 8}}
	part := func(i, length int) timeline.Span {
		return timeline.Span{From: float64(i * length), To: float64((i + 1) * length)}
	}
	for _, d := range []metric.Desc{metric.InputWait, metric.Starved, metric.GPUBusy, metric.BatchesPerS,
		metric.UsableBusy, metric.CPUPressure, metric.IOPressure, metric.DiskByteRate} {
		line := timeline.Line{Signal: d.Name}
		for i := range 240 {
			x := math.Abs(math.Sin(float64(i)))
			line.Buckets = append(line.Buckets, timeline.Bucket{Span: part(i, 360), Mean: x / 1.1, Lo: x / 3, Hi: x})
		}
		day.Lines = append(day.Lines, line)
	}
	for range 8 {
		day.Workers.States = append(day.Workers.States, "computing")
		row := timeline.Row{Number: len(day.Workers.Rows) + 1}
		for i := range 120 {
			row.Buckets = append(row.Buckets, timeline.Shares{Span: part(i, 720),
				Of: []float64{0.11, 0.12, 0.13, 0.14, 0.12, 0.13, 0.14, 0.11}})
		}
		day.Workers.Rows = append(day.Workers.Rows, row)
	}
	for i := range 5000 {
		day.Epochs = append(day.Epochs, timeline.Epoch{At: float64(i) * 17, Number: i, Reported: true})
	}
	var page bytes.Buffer
	must.Do(t, writePage(&page, Watch(load(t, fixtures+"/launch-classifier.json"), day), Options{}))
	if n := page.Len(); n > 2e6 || n < 1e5 {
		t.Errorf("%d bytes", n)
	}
}
