package evidence

import (
	"math"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
)

// trains is a job whose data is ready.
var trains = moment{wait: 0, run: 0.1, asleep: 0.9, idle: 0.9, work: 0.1, batches: 20, gpu: -1}

// TestSaving: what the main thread writes at 64 MiB/s for two seconds of ten is a checkpoint while no batch passes,
// with the one reading before its first byte, however long an evaluation has held batches up before; and nothing that
// holds training up where batches pass as ever.
func TestSaving(t *testing.T) {
	stands := moment{run: 1, idle: 1, gpu: -1}
	for _, c := range []struct {
		name  string
		saves moment
		eval  float64
		most  float64 // of the time, should all that stands still beside it be of the save
		want  map[metric.Desc]float64
	}{
		{"checkpoint", stands, 0.1, 0.21, map[metric.Desc]float64{
			metric.SaveTime: 0.21, metric.SavePause: 2.1, metric.SaveBytes: 128 << 20, metric.SaveEvery: 10}},
		{"evaluation, then checkpoint", stands, 5, 0.7, map[metric.Desc]float64{
			metric.SaveTime: 0.21, metric.SavePause: 2.1, metric.SaveBytes: 128 << 20, metric.SaveEvery: 10}},
		{"log", trains, 1, 0, map[metric.Desc]float64{metric.SaveTime: 0, metric.SavePause: absent}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := twoWorkers(t, recording.Header{})
			s.writes = "process/100.1"
			for range 4 {
				s.run(5-c.eval, trains)
				s.run(c.eval, c.saves)
				s.written = 64 << 20
				s.run(2, c.saves)
				s.written = 0
				s.run(3, trains)
			}
			e := s.evidence()
			want(t, e, c.want)
			if v, _ := e.Get(metric.SaveTime); math.Abs(v.Hi-c.most) > 0.02 {
				t.Errorf("saves at most %g of the time, want %g", v.Hi, c.most)
			}
		})
	}
}

// TestSavingsDiffer: of pauses of 1 and 3 seconds nothing tells which the next ones are like.
func TestSavingsDiffer(t *testing.T) {
	s := twoWorkers(t, recording.Header{})
	s.writes = "process/100.1"
	for i := range 4 {
		s.run(5, trains)
		s.written = 64 << 20
		s.run(1+2*float64(i%2), moment{run: 1, idle: 1, gpu: -1})
		s.written = 0
		s.run(3, trains)
	}
	e := s.evidence()
	near(t, e, 0.02, map[metric.Desc]float64{metric.SaveTime: 0.2})
	if v, _ := e.Get(metric.SaveTime); v.Lo < 0.09 || v.Lo > 0.13 || v.Hi < 0.27 || v.Hi > 0.33 {
		t.Errorf("pauses cost %v to %v of the time, want a tenth to three tenths", v.Lo, v.Hi)
	}
}

// TestSavingOften has the main thread write in two of three readings, in which six of ten batches pass all the same.
func TestSavingOften(t *testing.T) {
	s := twoWorkers(t, recording.Header{})
	s.writes, s.tick = "process/100.1", 0.5
	saves := trains
	saves.batches *= 0.6
	for range 20 {
		s.written = 64 << 20
		s.run(1, saves)
		s.written = 0
		s.run(0.5, trains)
	}
	near(t, s.evidence(), 0.03, map[metric.Desc]float64{metric.SaveTime: 0.27, metric.SavePause: absent,
		metric.SaveBytes: absent, metric.SaveEvery: absent})
}

// TestSavingOnce has the main thread write for most of the watch, once: its pause is known, and not how often.
func TestSavingOnce(t *testing.T) {
	s := twoWorkers(t, recording.Header{})
	s.writes = "process/100.1"
	s.run(12, trains)
	s.written = 64 << 20
	s.run(24, moment{run: 1, idle: 1, gpu: -1})
	s.written = 0
	s.run(11, trains)
	e := s.evidence()
	if v, ok := e.Get(metric.SavePause); !ok || v.Center < 14 {
		t.Errorf("pause %+v, %v; %+v", v, ok, e.Window)
	}
	want(t, e, map[metric.Desc]float64{metric.SaveEvery: absent})
}

// TestRemoteWaits splits the time that workers wait on connections by their peers.
func TestRemoteWaits(t *testing.T) {
	s := withWorkers(t, 2, recording.Header{})
	workers := s.workers["100.1"]
	for _, at := range []string{"10.0.0.5:443", "10.0.0.6:443"} {
		s.r.Event(recording.EventRemote, "remote/100.1."+at, map[string]string{"trainer": "process/100.1",
			"address": at})
	}
	m := inputBound
	m.work, m.disk = 0.1, 0
	s.remote = func(samples float64) {
		for _, w := range workers {
			s.count(metric.ThreadRemote, "process/"+w, 0.6*samples)
		}
		s.count(metric.RemoteSamples, "remote/100.1.10.0.0.5:443", 0.3*samples)
		s.count(metric.RemoteSamples, "remote/100.1.10.0.0.6:443", 0.9*samples)
	}
	s.run(30, m)
	e := s.evidence()
	want(t, e, map[metric.Desc]float64{metric.WorkerRemote: 0.6, metric.WorkerOtherWait: 0.8})
	if r := e.Facts.Remotes; len(r) != 2 || r[0].Address != "10.0.0.6:443" || r[0].Share < 0.749 || r[0].Share > 0.751 {
		t.Errorf("peers %+v", r)
	}
}

// TestRemoteWaitsOfWorkerlessTrainer: a trainer without workers that waits for the network may load or log, so that
// none of it is sure to be loading.
func TestRemoteWaitsOfWorkerlessTrainer(t *testing.T) {
	s := withWorkers(t, 0, recording.Header{})
	s.remote = func(samples float64) {
		s.count(metric.ThreadRemote, "process/100.1", 0.6*samples)
	}
	s.run(30, moment{run: 0.4, asleep: 0.6, gpu: -1})
	e := s.evidence()
	if v, ok := e.Get(metric.DataStall); !ok || v.Lo > 0.01 || v.Center < 0.59 || v.Hi < 0.59 {
		t.Errorf("data stall %+v, want 0 to 60 %% and more", v)
	}
	if d, ok := e.Get(metric.DeviceTime); !ok || d.Center > 0.11 {
		t.Errorf("the device takes %+v, which was seen of the network", d)
	}
}

// TestFreeData: chunks in which the workers still made batches, in which an evaluation ran, and the first one, do not
// count.
func TestFreeData(t *testing.T) {
	s := twoWorkers(t, recording.Header{})
	s.run(30, inputBound)
	chunk := func(entity string, steps int64, seconds float64, filled, void bool) {
		s.r.Event(recording.EventReplay, entity, recording.Attrs(recording.Replay{Steps: steps, Seconds: seconds,
			Filled: filled, Void: void, Kept: 8, Replayed: 1, Trainers: 2}))
	}
	chunk("process/200.1", 90, 1, true, false)
	chunk("process/100.1", 3, 0.001, true, false)
	chunk("process/100.1", 10, 1, false, false)
	for range 6 {
		chunk("process/100.1", 50, 1, true, false)
	}
	chunk("process/100.1", 10, 1, true, true)
	e := s.evidence()
	want(t, e, map[metric.Desc]float64{metric.FreeRate: 50, metric.FreeTimes: 2.5})
	if len(e.Warnings) != 1 || !strings.Contains(e.Warnings[0], "of 2 trainers 1 were handed batches again") {
		t.Errorf("warnings %q", e.Warnings)
	}
}

// TestFreeDataNotMeasured says why, and tells no figure.
func TestFreeDataNotMeasured(t *testing.T) {
	s := twoWorkers(t, recording.Header{})
	s.run(30, inputBound)
	if _, cure := s.evidence().WhyMissing(metric.FreeRate); !strings.Contains(cure, "--headroom") {
		t.Errorf("the cure is %q", cure)
	}
	s.r.Event(recording.EventReplay, "", recording.Attrs(recording.Replay{Why: "the job ended"}))
	e := s.evidence()
	if v, ok := e.Get(metric.FreeTimes); ok || math.IsNaN(v.Center) {
		t.Errorf("headroom %+v", v)
	}
	if why, _ := e.WhyMissing(metric.FreeRate); why != "the job ended" || len(e.Warnings) != 1 {
		t.Errorf("why %q, warnings %q", why, e.Warnings)
	}
}
