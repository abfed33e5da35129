package evidence

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/stat"
)

// sound fails the test where evidence holds what no report may: not-a-number, a ratio outside of 0..1, an interval
// beside its center.
func sound(t *testing.T, e *Evidence) {
	t.Helper()
	units := map[string]metric.Unit{}
	for _, d := range slices.Concat(metric.Derived, metric.HookDerived) {
		units[d.Name] = d.Unit
	}
	check := func(name string, v Value) {
		if !stat.Finite(v.Center) || !stat.Finite(v.Lo) || !stat.Finite(v.Hi) || v.Lo > v.Center || v.Center > v.Hi {
			t.Errorf("%s = %+v", name, v)
		}
		if units[name] == metric.Ratio && name != metric.WorkerCPU.Name && (v.Lo < 0 || v.Hi > 1) {
			t.Errorf("the ratio %s = %+v", name, v)
		}
		if v.N <= 0 || v.Basis == "" {
			t.Errorf("%s has n %d, basis %q", name, v.N, v.Basis)
		}
	}
	for name, s := range e.signals {
		if s.N == 0 {
			continue
		}
		if _, ok := units[name]; !ok {
			t.Errorf("%s is not in the vocabulary", name)
		}
		check(name, s.Value)
	}
	for _, r := range e.Ranks {
		if r.InputWait != nil {
			check(metric.InputWait.Name, *r.InputWait)
		}
		if r.BatchRate != nil {
			check(metric.BatchesPerS.Name, *r.BatchRate)
		}
	}
	if e.Window.Start < 0 || e.Window.Start > e.Window.End {
		t.Errorf("window %+v", e.Window)
	}
	host, _ := e.Get(metric.HostTime)
	device, _ := e.Get(metric.DeviceTime)
	stall, _ := e.Get(metric.DataStall)
	if total := host.Center + device.Center + stall.Center; total > 1.02 {
		t.Errorf("data stall, host and device add up to %v", total)
	}
}

// FuzzFromRecording bends the recording of a job seen from outside by instructions made of bytes.
func FuzzFromRecording(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, raw []byte) { derivesOrRefuses(t, outsideOnly(t), raw) })
}

// FuzzFromHook bends one of a job with the hook in it.
func FuzzFromHook(f *testing.F) {
	seeds(f)
	for i := range 12 {
		f.Add([]byte{9, byte(37 * i), byte(i), 0, 0, 3, byte(20 * i), byte(11 * i), 0, 0, 0, byte(9 * i), 30, 127, 240})
	}
	f.Add([]byte{10, 2, 0, 0, 0, 11, 1, 0, 0, 0, 12, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, raw []byte) { derivesOrRefuses(t, withHook(t), raw) })
}

func seeds(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{1, 3, 0, 0, 200, 4, 9, 1, 1, 255, 2, 7, 0, 9, 13})
	f.Add(bytes.Repeat([]byte{5, 0, 1, 77, 130}, 8))
}

func derivesOrRefuses(t *testing.T, rec *recording.Recording, raw []byte) {
	bend(rec, raw)
	e, err := FromRecording(rec)
	if err != nil {
		return
	}
	sound(t, e)
	for _, d := range metric.Derived {
		e.WhyMissing(d)
	}
}

func outsideOnly(t *testing.T) *recording.Recording {
	s := simulate(t, recording.Header{Warmup: 2 * time.Second, BatchSize: 8})
	s.trainer("100.1", "rank", "0")
	s.bear("100.1", 2, 50)
	s.run(5, inputBound)
	s.bury("100.1")
	s.run(0.3, moment{gpu: 0.5})
	s.bear("100.1", 2, 0)
	s.r.Event(recording.EventDataset, "dataset/0", map[string]string{"kind": "hdf5", "path": "/d/x.h5", "bytes": "1e9",
		"files": "3"})
	s.r.Add(metric.DatasetOpens, "dataset/0", 0)
	s.run(4, inputBound)
	s.r.Add(metric.DatasetOpens, "dataset/0", 100)
	return s.recording("duration")
}

// withHook trains, evaluates, and has a second trainer that only just began.
func withHook(t *testing.T) *recording.Recording {
	l := launch(t, recording.Header{Warmup: time.Second})
	l.trainer("200.1")
	l.loader(0, 88, 2)
	l.loader(1, 95, 0)
	l.r.Event(recording.EventSite, "site/100.1.0/0", map[string]string{"kind": "open", "what": "a.h5", "file": "a.py",
		"line": "3"})
	l.r.Event(recording.EventSlowItem, "loop/100.1.0", map[string]string{"index": "7", "seconds": "0.5", "times": "2"})
	l.bear("100.1", 2, 5)
	for range 2 {
		l.begin(0, 0.1, 2)
		l.plain(0, 2.5, 0.03, 0.02)
		l.end(0, 0.1)
		l.begin(1, 0, 0)
		l.step(1, false, 0.3, 0.2)
		l.end(1, 0)
	}
	l.r.Add(metric.HookClock, "process/200.1", 7)
	l.r.Add(metric.HookSteps, "loop/200.1.0", 1)
	return l.finish()
}

// bend changes a recording; each five bytes are one change.
func bend(rec *recording.Recording, raw []byte) {
	for ; len(raw) >= 5; raw = raw[5:] {
		kind, which, where := raw[0]%13, int(raw[1]), int(raw[2])
		value := math.Float64frombits(uint64(binary.BigEndian.Uint16(raw[3:5])) << 48)
		series := &rec.Series[which%len(rec.Series)]
		point := &recording.Point{}
		if len(series.Points) > 0 {
			point = &series.Points[where%len(series.Points)]
		}
		event := &rec.Events[which%len(rec.Events)]
		switch kind {
		case 0:
			point.Value = value
		case 1:
			point.At = time.Duration(int64(binary.BigEndian.Uint16(raw[3:5])) << 46)
		case 2:
			series.Points = series.Points[:min(where, len(series.Points))]
		case 3:
			series.Metric = metric.Raw()[where%len(metric.Raw())].Name
		case 4:
			event.At = time.Duration(int64(int16(binary.BigEndian.Uint16(raw[3:5]))) << 40)
		case 5:
			event.Kind = []string{recording.EventExit, recording.EventGap, recording.EventJobEnded, recording.EventPin,
				recording.EventChangeover, recording.EventLayout}[where%6]
		case 6:
			event.Attrs = map[string]string{"role": []string{"trainer", "worker", ""}[where%3], "start_s": "1e9",
				"lasted_s": "-3", "bytes": "NaN", "rank": "x"}
		case 7:
			rec.Header.StartMonotonic, rec.Header.Interval, rec.Header.Warmup = time.Duration(value),
				time.Duration(where)<<40, time.Duration(value)
		case 8:
			rec.End = nil
		case 9:
			series.Entity = []string{"host", "loader/100.1", "process/100.1", "gpu/A", "cgroup/job", "", "loop/100.1.0",
				"loop/100.1.1", "loop/100.1.x", "loop/200.1.0", "spread/100.1.0/9", "site/100.1.1/0", "site"}[where%13]
		case 10:
			event.Kind = []string{recording.EventHook, recording.EventLoader, recording.EventEpoch, recording.EventSite,
				recording.EventSlowItem}[where%5]
			event.Entity = []string{"loop/100.1.0", "process/100.1", "site/100.1.0/0", ""}[where%4]
		case 11:
			x := strconv.FormatFloat(value, 'g', -1, 64)
			event.Attrs = map[string]string{"epoch": "1", "begun_s": x, "create_s": x, "first_wait_s": x, "drain_s": x,
				"wall_s": x, "workers_born": "2", "grad": "1", "num_workers": x, "batch_size": x, "line": x,
				"index": "3", "seconds": x, "times": x, "state": "off", "persistent_workers": "perhaps"}
		case 12:
			event.Attrs = nil
		}
	}
}

func TestEvidenceIsDeterministic(t *testing.T) {
	var first *Evidence
	for range 3 {
		s := withWorkers(t, 3, recording.Header{})
		for i := range 300 {
			m := inputBound
			m.wait = 0.3 + 0.2*math.Sin(float64(i)/7)
			s.run(0.1, m)
		}
		e := s.evidence()
		sound(t, e)
		if first == nil {
			first = e
			continue
		}
		for name := range first.signals {
			a, b := first.signals[name].Value, e.signals[name].Value
			if a.Center != b.Center || a.Lo != b.Lo || a.Hi != b.Hi {
				t.Errorf("%s: %+v, then %+v", name, a, b)
			}
		}
		if strings.Join(e.Warnings, "\n") != strings.Join(first.Warnings, "\n") {
			t.Errorf("warnings %q, then %q", first.Warnings, e.Warnings)
		}
	}
}

// BenchmarkFromRecording derives from 30 s of a job with 16 workers, ten readings a second.
func BenchmarkFromRecording(b *testing.B) {
	s := withWorkers(&testing.T{}, 16, recording.Header{Warmup: 5 * time.Second})
	s.run(30, inputBound)
	rec := s.recording("duration")
	points := 0
	for _, x := range rec.Series {
		points += len(x.Points)
	}
	b.ReportMetric(float64(points), "points")
	for b.Loop() {
		must.Get(FromRecording(rec))(b)
	}
}

// BenchmarkLongWatch derives from ten minutes of a job that replaces its four workers each 2 s.
func BenchmarkLongWatch(b *testing.B) {
	s := simulate(&testing.T{}, recording.Header{Warmup: 5 * time.Second})
	s.trainer("100.1")
	for range 300 {
		s.bear("100.1", 4, 0)
		s.run(0.3, moment{wait: 1, work: 1, gpu: -1})
		s.run(1.6, inputBound)
		s.bury("100.1")
		s.run(0.1, moment{run: 1, gpu: -1})
	}
	rec := s.recording("duration")
	for b.Loop() {
		must.Get(FromRecording(rec))(b)
	}
}

// TestThousandsOfLoops: a job that makes a DataLoader for each hundredth of a second, from one line or from many.
func TestThousandsOfLoops(t *testing.T) {
	const loops = 2000
	for _, lines := range []int{1, loops} {
		l := launch(t, recording.Header{})
		l.bear("100.1", 2, 50)
		for i := range loops {
			l.loader(i, 88+i%lines, 2)
			l.begin(i, 0.002, 2)
			l.step(i, true, 0.003, 0.005)
		}
		rec := l.finish()
		began := time.Now()
		e := l.derive(rec)
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%d loops at %d lines took %v", loops, lines, took)
		}
		sound(t, e)
		near(t, e, 0.01, map[metric.Desc]float64{metric.InputWait: 0.5})
		if h := e.Facts.Hook; h == nil || len(h.Others) > 16 {
			t.Errorf("%d lines: %+v", lines, h)
		}
	}
}
