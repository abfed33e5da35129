package evidence

import (
	"math"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/internal/timeline"
)

// TestTimelineAgreesWithTheFigures: what is drawn of a watch has the means that its report has, over the stretch that
// those are of.
func TestTimelineAgreesWithTheFigures(t *testing.T) {
	var all []string
	for _, pattern := range []string{"*.jsonl", "device/*input*.jsonl"} {
		found, err := filepath.Glob(filepath.Join(recordings, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		all = append(all, found...)
	}
	drawn := map[string]int{}
	signals := []metric.Desc{metric.InputWait, metric.GPUBusy, metric.UsableBusy, metric.IOPressure}
	for _, path := range all {
		rec := read(t, path)
		e := must.Get(FromRecording(rec))(t)
		line := Timeline(rec)
		for _, d := range signals {
			const slack = 0.06 // buckets do not begin where the steady stretch does
			want, known := e.Get(d)
			got, seen := meanOf(line, d)
			if !known || !seen {
				continue
			}
			if drawn[d.Name]++; math.Abs(got-want.Center) > slack {
				t.Errorf("%s: %s is drawn with a mean of %.3f, and is %.3f", filepath.Base(path), d.Name, got,
					want.Center)
			}
		}
		if c := line.Workers; c != nil {
			drawn["workers"]++
			for _, row := range c.Rows {
				for _, b := range row.Buckets {
					if math.Abs(stat.Sum(b.Of)-1) > 1e-9 || len(b.Of) != len(c.States) {
						t.Fatalf("%s: shares %v", filepath.Base(path), b.Of)
					}
				}
			}
		}
	}
	for _, d := range append(signals, metric.Desc{Name: "workers"}) {
		if drawn[d.Name] < 3 {
			t.Errorf("%s is drawn of %d recordings", d.Name, drawn[d.Name])
		}
	}
}

// meanOf is the mean of what is drawn within the steady stretch.
func meanOf(l *timeline.Timeline, d metric.Desc) (float64, bool) {
	i := slices.IndexFunc(l.Lines, func(x timeline.Line) bool { return x.Signal == d.Name })
	if i < 0 {
		return 0, false
	}
	total, length := 0.0, 0.0
	for _, b := range l.Lines[i].Buckets {
		if common := min(b.To, l.Steady.To) - max(b.From, l.Steady.From); common > 0 {
			total, length = total+b.Mean*common, length+common
		}
	}
	return total / length, length > 0
}

// TestTimelineOfADayIsThinned: a watch of a day is drawn with as many points as one of minutes, and a spike of two
// minutes in it is still seen.
func TestTimelineOfADayIsThinned(t *testing.T) {
	rec := &recording.Recording{Series: []recording.Series{{Metric: metric.PressureIOSome.Name, Entity: host}}}
	total := 0.0
	for s := 0; s <= 86400; s += 5 {
		if s > 40000 && s <= 40120 {
			total += 5
		}
		rec.Series[0].Points = append(rec.Series[0].Points, recording.Point{At: time.Duration(s) * time.Second,
			Value: total})
	}
	l := Timeline(rec)
	if len(l.Lines) != 1 || len(l.Lines[0].Buckets) > mostBuckets || l.Per < 2 {
		t.Fatalf("%d lines, %d windows of a bucket", len(l.Lines), l.Per)
	}
	most := 0.0
	for _, b := range l.Lines[0].Buckets {
		most = max(most, b.Hi)
		if b.Lo > b.Mean || b.Mean > b.Hi {
			t.Errorf("%+v", b)
		}
	}
	if most < 0.99 {
		t.Errorf("the spike comes out as %.2f", most)
	}
}
