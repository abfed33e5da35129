//go:build reliability

package reliability

import (
	"cmp"
	"os"
	"slices"
	"time"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/recording"
)

var recordingTrials = []trial{
	{
		id: "L6", fault: "a recording of 24 hours at 100 ms",
		made: "a watch of 10 s of a trainer and 8 workers, repeated with its counters going on until it has " +
			"864,000 ticks, through pipetune's own recorder",
		target: "the file has at most 500 MB; `pipetune report` of it takes at most 256 MiB and 60 s",
		run:    dayLongRecording,
	},
}

// reading is one value of a recording.
type reading struct {
	series int
	recording.Point
}

func dayLongRecording(s *stand) {
	c := churn{flags: []string{"--steady", "8"}}.start(s)
	rec, _ := s.weigh(c, 10*time.Second)
	s.stopChurn(c)

	kinds := map[string]metric.Desc{}
	for _, d := range metric.Raw() {
		kinds[d.Name] = d
	}
	var readings []reading
	growth := make([]float64, len(rec.Series))
	for i, series := range rec.Series {
		first, last := series.Points[0], series.Points[len(series.Points)-1]
		if kinds[series.Metric].Kind == metric.Counter {
			growth[i] = last.Value - first.Value
		}
		for _, p := range series.Points {
			readings = append(readings, reading{i, p})
		}
	}
	slices.SortStableFunc(readings, func(a, b reading) int { return cmp.Compare(a.At, b.At) })

	file := s.in("day.jsonl")
	const tick, day = 100 * time.Millisecond, 24 * time.Hour
	round := readings[len(readings)-1].At.Truncate(tick) + tick
	given, kept := s.repeat(file, rec, readings, growth, kinds, round, tick, day)
	info := must.Get(os.Stat(file))(s)

	began := time.Now()
	p := s.pipetune([]string{"report", file})
	var peak int64
	replay := p.meter(20*time.Millisecond, func(u usage) bool { peak = max(peak, u.peak); return false })
	p.ends(10*time.Minute, 0)
	took := time.Since(began)
	if len(p.output()) == 0 || len(replay) == 0 {
		s.Errorf("report wrote %d bytes and was seen %d times", len(p.output()), len(replay))
	}
	cpu := p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
	s.measured("%d ticks, %.1f million readings given and %.2f million kept; file %.0f MB; report took %.1f s (%.1f "+
		"s of CPU time) and %.0f MiB",
		day/tick, float64(given)/1e6, float64(kept)/1e6, float64(info.Size())/1e6, took.Seconds(), cpu.Seconds(),
		mib(peak))
	s.atMost(float64(info.Size())/1e6, 500, "file of %.0f MB")
	s.atMost(mib(peak), 256, "%.0f MiB to report")
	if took > time.Minute && cpu > time.Minute {
		s.missed("%.0f s to report", took.Seconds())
	}
}

// repeat writes a recording of a day from one of some seconds. It returns how many readings were given to the recorder,
// and kept.
func (s *stand) repeat(file string, rec *recording.Recording, readings []reading, growth []float64,
	kinds map[string]metric.Desc, round, tick, day time.Duration) (given, kept int) {
	s.Helper()
	f := must.Get(os.Create(file))(s)
	defer f.Close()
	r := must.Get(recording.NewRecorder(rec.Header, recording.NewWriter(f)))(s)
	for _, e := range rec.Events {
		r.Tick(e.At)
		r.Event(e.Kind, e.Entity, e.Attrs)
	}
	next := 0
	for at, turn := time.Duration(0), 0; at < day; at += tick {
		r.Tick(at)
		for ; next < len(readings) && time.Duration(turn)*round+readings[next].At <= at; next++ {
			v := readings[next]
			series := rec.Series[v.series]
			r.Add(kinds[series.Metric], series.Entity, v.Value+float64(turn)*growth[v.series])
			given++
		}
		if next == len(readings) {
			next, turn = 0, turn+1
		}
		must.Do(s, r.Flush())
	}
	whole := must.Get(r.Finish(recording.End{At: day, Reason: "duration"}))(s)
	for _, series := range whole.Series {
		kept += len(series.Points)
	}
	must.Do(s, f.Close())
	if kept < 1000 {
		s.Fatalf("only %d readings of %d were kept", kept, given)
	}
	return given, kept
}
