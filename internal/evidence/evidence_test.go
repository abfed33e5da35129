package evidence

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/recording"
)

// inputBound is a job that waits for two workers that read much.
var inputBound = moment{wait: 0.6, run: 0.1, asleep: 0.3, idle: 0.1, work: 0.5, disk: 0.3, head: 0.2, batches: 20,
	queued: 2, gpu: -1, workerReads: 100 << 20, workerFetches: 25 << 20, rss: 400 << 20}

// want checks signals to a relative 1e-6.
func want(t *testing.T, e *Evidence, figures map[metric.Desc]float64) {
	t.Helper()
	near(t, e, 1e-6, figures)
}

// near checks signals to within a part of each; NaN means that the signal must be absent.
func near(t *testing.T, e *Evidence, part float64, figures map[metric.Desc]float64) {
	t.Helper()
	for d, x := range figures {
		if v, ok := e.Get(d); ok == math.IsNaN(x) || ok && math.Abs(v.Center-x) > max(part*math.Abs(x), 1e-9) {
			t.Errorf("%s = %v (%v), want %v", d.Name, v.Center, ok, x)
		}
	}
}

var absent = math.NaN()

// warned reports whether a text is among the warnings.
func warned(e *Evidence, text string) bool {
	return strings.Contains(strings.Join(e.Warnings, "\n"), text)
}

func TestInputBoundJob(t *testing.T) {
	s := simulate(t, recording.Header{Warmup: 5 * time.Second, BatchSize: 32})
	s.trainer("100.1", "rank", "0")
	s.bear("100.1", 2, 50)
	s.run(30, inputBound)
	e := s.evidence()
	want(t, e, map[metric.Desc]float64{
		metric.InputWait: 0.6, metric.HostTime: 0.1, metric.DeviceTime: 0.3, metric.EpochGap: 0, metric.Restarts: 0,
		metric.NumWorkers: 2, metric.Ranks: 1, metric.BatchesPerS: 20, metric.SamplesPerS: 640, metric.StepTime: 0.05,
		metric.FreeStepTime: 0.02, metric.BatchBytes: 1 << 20, metric.QueueBatches: 1, metric.QueueCapacity: 1,
		metric.HeadOfLine: 0.2, metric.LoaderIsAhead: 0, metric.IdleWhileWaits: 0.1,
		metric.WorkerIdle: 0.1, metric.WorkerBusy: 0.9, metric.WorkerRunning: 0.5, metric.WorkerStorage: 0.3,
		metric.WorkerOtherWait: 0.1, metric.WorkerCPU: 0.5, metric.WorkerCPUBatch: 2 * 0.5 / 20,
		metric.WorkerWaitBatch: 2 * 0.4 / 20, metric.WorkerRSS: 400 << 20, metric.WorkerPrivate: 300 << 20,
		metric.WorkerGrowth: 0, metric.WorkerThreads: 3, metric.WorkerImbalance: 1,
		metric.ReadBytes: 200 << 20, metric.StorageBytes: 50 << 20, metric.CacheHits: 0.75, metric.BytesPerRead: 65536,
		metric.ReadsPerBatch: 2 * 1600.0 / 20, metric.StoragePerBatch: 2.5 * (1 << 20),
		metric.UsableCPUs: 8, metric.UsableBusy: 1.6 / 8, metric.CPUBusyRatio: 1.6 / 8, metric.JobCPU: 1.1,
		metric.TrainerCPU: 0.1, metric.OtherCPU: 0.5, metric.MainCPU: 0.1, metric.WindowTime: 25,
		metric.SampleCoverage: 1, metric.SyscallSeen: 1, metric.GPUBusy: absent, metric.EpochTime: absent,
		metric.DiskLatency: absent, metric.InWorkerless: absent,
		// whose raw signals the recording does not have
		metric.SaveTime: absent, metric.WorkerRemote: absent,
	})
	v, _ := e.Get(metric.InputWait)
	if v.N < 20 || v.Confidence != 0.95 || v.Basis != metric.Measured {
		t.Errorf("input wait has N %d, confidence %v, basis %v", v.N, v.Confidence, v.Basis)
	}
	if v, _ := e.Get(metric.DeviceTime); v.Basis != metric.Inferred {
		t.Errorf("device time without a GPU is %v, want inferred", v.Basis)
	}
	if len(e.Warnings) != 0 {
		t.Errorf("an ordinary watch warned: %q", e.Warnings)
	}
	if e.Facts.StartMethod != "fork" || e.Facts.Persistent != nil || e.Window.Warmup != 5*time.Second {
		t.Errorf("facts %+v, window %+v", e.Facts, e.Window)
	}
}

// TestFetchesThatNobodyCounts takes what is fetched from storage only where the kernel is known to count it: where it
// does not, a job on a cold network file system looks as if the page cache had everything.
func TestFetchesThatNobodyCounts(t *testing.T) {
	for _, c := range []struct {
		fs, network, tmpfs string
		counted            bool
	}{
		{"ext4", "0", "0", true}, {"xfs", "0", "0", true}, {"btrfs", "0", "0", true}, {"zfs", "0", "0", false},
		{"nfs4", "1", "0", true}, {"cifs", "1", "0", true}, {"ceph", "1", "0", true}, {"9p", "1", "0", true},
		{"lustre", "1", "0", false}, {"gpfs", "1", "0", false}, {"wekafs", "1", "0", false},
		{"beegfs", "1", "0", false},
		{"virtiofs", "1", "0", false}, {"fuse.sshfs", "1", "0", false}, {"fuse", "1", "0", false},
		{"vboxsf", "1", "0", false},
		{"tmpfs", "0", "1", true}, {"overlay", "", "0", true}, {"scratchfs", "", "0", false}, {"", "", "", true},
	} {
		t.Run("on "+c.fs, func(t *testing.T) {
			s := twoWorkers(t, recording.Header{})
			if c.fs != "" {
				s.r.Event(recording.EventDataset, "dataset/1", map[string]string{"path": "/data", "kind": "image",
					"fstype": c.fs, "network": c.network, "tmpfs": c.tmpfs})
			}
			m := inputBound
			m.workerFetches = 0
			s.run(30, m)
			e := s.evidence()
			if c.counted {
				want(t, e, map[metric.Desc]float64{metric.StorageBytes: 0, metric.CacheHits: 1})
				return
			}
			want(t, e, map[metric.Desc]float64{metric.StorageBytes: absent, metric.CacheHits: absent,
				metric.StoragePerBatch: absent, metric.ReadBytes: 200 << 20})
			if why, _ := e.WhyMissing(metric.CacheHits); !strings.Contains(why, c.fs) {
				t.Errorf("missing because %q", why)
			}
		})
	}
}

func TestPinnedBatches(t *testing.T) {
	s := twoWorkers(t, recording.Header{})
	s.pins = true
	s.r.Event(recording.EventPin, "pin/100.1", nil)
	s.run(30, inputBound)
	e := s.evidence()
	want(t, e, map[metric.Desc]float64{metric.InputWait: 0.6, metric.HostTime: 0.1, metric.DeviceTime: 0.3})
	if e.Facts.PinMemory == nil || !*e.Facts.PinMemory {
		t.Error("the pinning thread was not noticed")
	}
}

// TestNoWorkersIsNotNoData: a trainer without workers loads as much as it runs while it reads. What its wait is only
// the hook could tell: the cure is to launch the job, and for one that reported no DataLoader there is none.
func TestNoWorkersIsNotNoData(t *testing.T) {
	for _, c := range []struct {
		mode         string
		reads, loads float64
		cured        bool
	}{{"attach", 1 << 20, 0.7, true}, {"attach", 0, 0, true}, {"launch", 1 << 20, 0.7, false}} {
		s := withWorkers(t, 0, recording.Header{Mode: c.mode})
		s.run(30, moment{run: 0.7, asleep: 0.3, gpu: -1, trainerReads: c.reads})
		e := s.evidence()
		want(t, e, map[metric.Desc]float64{metric.NumWorkers: 0, metric.InputWait: absent, metric.InWorkerless: c.loads,
			metric.HostTime: 0.7 - c.loads, metric.DataStall: c.loads, metric.DeviceTime: 0.3,
			metric.BatchesPerS: absent, metric.WorkerIdle: absent, metric.ReadBytes: c.reads})
		why, cure := e.WhyMissing(metric.InputWait)
		if !strings.Contains(why, "num_workers=0") || (cure != "") != c.cured {
			t.Errorf("%+v: input wait is missing because %q, cure %q", c, why, cure)
		}
	}
}

func TestGPUDecidesBetweenHostAndDevice(t *testing.T) {
	for _, c := range []struct {
		name                       string
		m                          moment
		input, stall, host, device float64
	}{
		{"spinning in a synchronisation", moment{run: 1, gpu: 0.98, idle: 1, ahead: 1}, 0, 0, 0.02, 0.98},
		{"running while the GPU idles", moment{run: 0.9, asleep: 0.1, gpu: 0.3, idle: 1, ahead: 1}, 0, 0, 0.7, 0.3},
		{"asleep for the GPU", moment{run: 0.1, asleep: 0.6, wait: 0.3, gpu: 0.6, work: 1, batches: 5}, 0.3, 0.3, 0.1,
			0.6},
		{"waiting while the GPU still works", moment{run: 0.1, wait: 0.9, gpu: 0.9, work: 1, batches: 5}, 0.9, 0.1, 0,
			0.9},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := twoWorkers(t, recording.Header{})
			s.run(30, c.m)
			e := s.evidence()
			want(t, e, map[metric.Desc]float64{metric.InputWait: c.input, metric.DataStall: c.stall,
				metric.HostTime: c.host, metric.DeviceTime: c.device, metric.GPUBusy: c.device})
			if v, _ := e.Get(metric.DeviceTime); v.Basis != metric.Measured {
				t.Errorf("basis %v, want measured", v.Basis)
			}
		})
	}
}

func TestRanksAreOrderedByWait(t *testing.T) {
	s := simulate(t, recording.Header{})
	for i, id := range []string{"100.1", "101.1", "102.1"} {
		s.trainer(id, "rank", string(rune('0'+i)))
		s.bear(id, 2, 50)
	}
	for range 300 {
		for i, id := range []string{"100.1", "101.1", "102.1"} {
			m := inputBound
			m.wait = []float64{0.2, 0.5, 0.1}[i]
			m.asleep = 0.9 - m.wait
			s.step(1, m, []string{id})
		}
		s.at += s.tick
		s.r.Tick(time.Duration(s.at*1e9 + 0.5))
	}
	e := s.evidence()
	want(t, e, map[metric.Desc]float64{metric.Ranks: 3, metric.InputWait: 0.5, metric.NumWorkers: 2})
	if len(e.Ranks) != 3 || e.Ranks[0].Name != "1" || e.Ranks[0].PID != 101 ||
		math.Abs(e.Ranks[2].InputWait.Center-0.1) > 1e-6 {
		t.Errorf("ranks: %+v", e.Ranks)
	}
}

func TestMemoryGrowth(t *testing.T) {
	s := twoWorkers(t, recording.Header{})
	m := inputBound
	for range 300 {
		m.rss += 1 << 20
		s.run(0.1, m)
	}
	e := s.evidence()
	v, _ := e.Get(metric.WorkerGrowth)
	if math.Abs(v.Center-10*(1<<20)) > 1e5 {
		t.Errorf("growth %v, want 10 MiB/s", v.Center)
	}
}

func TestReasonsAreCarriedOver(t *testing.T) {
	s := simulate(t, recording.Header{})
	s.r.Unseen("disk_*", "", "the device is not in /proc/diskstats", "run on the host")
	s.r.Unseen("gpu_*", "", "libnvidia-ml.so.1: not found", "install the driver")
	s.r.Unseen(metric.PressureCPUSome.Name, "", "no PSI", "boot with psi=1")
	s.trainer("100.1")
	s.run(12, inputBound)
	e := s.evidence()
	for d, reason := range map[metric.Desc]string{metric.DiskLatency: "the device is not in /proc/diskstats",
		metric.CPUPressure: "no PSI", metric.GPUBusy: "libnvidia-ml.so.1: not found", metric.SwapInRate: ""} {
		if got, _ := e.WhyMissing(d); got != reason {
			t.Errorf("%s is missing because %q, want %q", d.Name, got, reason)
		}
	}
	if e.Facts.GPUWhyNot != "libnvidia-ml.so.1: not found" {
		t.Errorf("GPUWhyNot = %q", e.Facts.GPUWhyNot)
	}
}

func TestEmptyRecordings(t *testing.T) {
	for name, rec := range map[string]*recording.Recording{"none": nil, "empty": {},
		"unknown signals only": {Series: []recording.Series{{Metric: "x", Points: []recording.Point{{}}}}}} {
		if e, err := FromRecording(rec); err == nil {
			t.Errorf("%s: no error, evidence %v", name, e)
		}
	}
}

// TestEveryDerivedSignalSaysWhatItIsMadeFrom, of a recording in which next to nothing was read; the layout of an HDF5
// file is an event and has no raw signal.
func TestEveryDerivedSignalSaysWhatItIsMadeFrom(t *testing.T) {
	raw := map[string]bool{}
	for _, d := range metric.Raw() {
		raw[d.Name] = true
	}
	e := must.Get(FromRecording(&recording.Recording{Series: []recording.Series{{Metric: metric.MemAvailable.Name,
		Entity: host, Points: []recording.Point{{}}}}}))(t)
	for _, d := range metric.Derived {
		from := e.read(d).from
		if len(from) == 0 && !strings.HasPrefix(d.Name, "hdf5_") {
			t.Errorf("%s does not say what it is made from", d.Name)
		}
		for _, r := range from {
			if !raw[r.Name] {
				t.Errorf("%s is made from %s, which is no raw signal", d.Name, r.Name)
			}
		}
	}
}

// TestLateTicksAreNoGap lets a tick be late on a full machine while the samples went on.
func TestLateTicksAreNoGap(t *testing.T) {
	s := twoWorkers(t, recording.Header{})
	s.run(15, inputBound)
	s.tick, s.samples = 2, 40
	s.run(2, inputBound)
	s.r.Event(recording.EventGap, "", map[string]string{"lasted_s": "2"})
	s.tick, s.samples = 0.1, 5
	s.run(13, inputBound)
	e := s.evidence()
	want(t, e, map[metric.Desc]float64{metric.InputWait: 0.6, metric.WindowTime: 30, metric.BatchesPerS: 20})
	if len(e.Warnings) != 0 {
		t.Errorf("warnings %q", e.Warnings)
	}
}

// TestLauncherThatOutlivesItsRanks is no trainer, though it is all that is left of the job at the end.
func TestLauncherThatOutlivesItsRanks(t *testing.T) {
	s := simulate(t, recording.Header{})
	s.r.Event(recording.EventProcess, "process/90.1", map[string]string{"pid": "90", "ppid": "1", "role": "launcher"})
	s.trainer("100.1", "rank", "0", "ppid", "90")
	s.bear("100.1", 2, 50)
	s.run(30, inputBound)
	s.r.Event(recording.EventProcess, "process/90.1", map[string]string{"pid": "90", "ppid": "1", "role": "trainer"})
	if e := s.evidence(); len(e.Ranks) != 1 || e.Ranks[0].PID != 100 {
		t.Errorf("ranks %+v", e.Ranks)
	}
}
