package evidence

import (
	"slices"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
)

// onCPU is a job whose model trains on the CPU: the main thread computes, and sleeps while its native threads do.
var onCPU = moment{run: 0.4, asleep: 0.6, idle: 1, ahead: 1, batches: 10, gpu: -1}

// others lets GPUs that are not the job's be read once a second, busy as given; held is the memory that the job's
// processes were found to hold, below 0 where no list of processes could be matched.
func (s *simulation) others(seconds float64, m moment, busy map[string]float64, held float64) {
	for range int(seconds) {
		for gpu, x := range busy {
			s.r.Add(metric.GPUUtil, gpu, x)
			s.r.Add(metric.GPUMemUsed, gpu, x*(40<<30))
			s.r.Add(metric.GPUMemTotal, gpu, 80<<30)
			if held >= 0 {
				s.r.Add(metric.GPUJobMemory, gpu, held)
			}
		}
		s.run(1, m)
	}
}

func gpusOfHost(uuids ...string) recording.Header {
	var h recording.Header
	for _, u := range uuids {
		h.Host.GPUs = append(h.Host.GPUs, recording.GPU{UUID: u, Name: "NVIDIA Test", MemoryBytes: 80 << 30})
	}
	return h
}

// besideGPUs watches a job with two workers on a machine whose GPUs are busy as given; held is as others has it.
func besideGPUs(t *testing.T, h recording.Header, busy map[string]float64, held float64) *Evidence {
	t.Helper()
	s := twoWorkers(t, h)
	s.others(30, onCPU, busy, held)
	return s.evidence()
}

// TestGPUsOfColleagues lets a job train on the CPU of a server whose GPUs are busy for others.
func TestGPUsOfColleagues(t *testing.T) {
	e := besideGPUs(t, gpusOfHost("A", "B"), map[string]float64{"gpu/A": 0.97, "gpu/B": 0.9}, 0)
	want(t, e, map[metric.Desc]float64{metric.GPUCount: 0, metric.GPUBusy: absent, metric.GPUMemUsedRatio: absent,
		metric.GPUIdleJob: 0, metric.DeviceTime: absent})
	for _, d := range []metric.Desc{metric.GPUBusy, metric.DeviceTime, metric.GPUThrottled} {
		if why, _ := e.WhyMissing(d); !strings.Contains(why, "no process of the job is on a GPU") {
			t.Errorf("%s is missing because %q", d.Name, why)
		}
	}
	if e.Facts.GPUName != "" || e.Facts.GPUWhyNot == "no GPU was watched" {
		t.Errorf("facts: GPU %q, why not %q", e.Facts.GPUName, e.Facts.GPUWhyNot)
	}
}

// TestGPUTakenLate credits a GPU that the job is on only toward the end of the watch.
func TestGPUTakenLate(t *testing.T) {
	s := twoWorkers(t, gpusOfHost("A", "B"))
	m := onCPU
	s.others(25, m, map[string]float64{"gpu/A": 0, "gpu/B": 0.9}, 0)
	m.gpu = 0.8 // the simulated job's own is gpu/A
	s.others(5, m, map[string]float64{"gpu/B": 0.9}, 0)
	e := s.evidence()
	v, ok := e.Get(metric.GPUBusy)
	if !ok || v.Basis != metric.Measured || v.Center < 0.1 || v.Center > 0.6 {
		t.Errorf("busy %v, %v: want gpu/A's own, idle at first", v, ok)
	}
	want(t, e, map[metric.Desc]float64{metric.GPUCount: 1})
}

// TestGPUWithoutAList keeps what stood before where a GPU's processes could not be listed: they may be the job's.
func TestGPUWithoutAList(t *testing.T) {
	e := besideGPUs(t, gpusOfHost("A"), map[string]float64{"gpu/A": 0.5}, -1)
	want(t, e, map[metric.Desc]float64{metric.GPUCount: 1, metric.GPUBusy: 0.5})
	if v, _ := e.Get(metric.GPUBusy); v.Basis != metric.Inferred {
		t.Errorf("basis %v", v.Basis)
	}
}

// TestGPUWithAListNotBelieved keeps what stood before where the driver lists nobody on a busy GPU: the idle moments
// before it are no proof.
func TestGPUWithAListNotBelieved(t *testing.T) {
	s := twoWorkers(t, gpusOfHost("A"))
	s.r.Unseen(metric.GPUJobMemory.Name, "gpu/A", "the driver lists no process on this GPU, and the GPU is busy", "")
	s.others(30, onCPU, map[string]float64{"gpu/A": 0.5}, 0)
	want(t, s.evidence(), map[metric.Desc]float64{metric.GPUCount: 1, metric.GPUBusy: 0.5})
}

// TestGPUsOfAContainer lets one trainer see eight GPUs in a container, where processes on a GPU cannot be told to be
// the job's.
func TestGPUsOfAContainer(t *testing.T) {
	for _, c := range []struct {
		name  string
		ranks int
		busy  map[string]float64
		want  map[metric.Desc]float64
	}{
		{"one in use", 1, map[string]float64{"gpu/A": 0.9, "gpu/B": 0, "gpu/C": 0, "gpu/D": 0},
			map[metric.Desc]float64{metric.GPUBusy: 0.9, metric.GPUCount: 1, metric.GPUIdleJob: 3}},
		{"one for each trainer", 2, map[string]float64{"gpu/A": 0.9, "gpu/B": 0.7, "gpu/C": 0, "gpu/D": 0},
			map[metric.Desc]float64{metric.GPUBusy: 0.8, metric.GPUCount: 2, metric.GPUIdleJob: 2}},
		{"several in use", 1, map[string]float64{"gpu/A": 0.9, "gpu/B": 0.1, "gpu/C": 0.2, "gpu/D": 0},
			map[metric.Desc]float64{metric.GPUBusy: absent, metric.GPUMemUsedRatio: absent, metric.GPUCount: 3,
				metric.GPUIdleJob: 1}},
		{"none in use", 1, map[string]float64{"gpu/A": 0, "gpu/B": 0},
			map[metric.Desc]float64{metric.GPUBusy: 0, metric.GPUCount: 2, metric.GPUIdleJob: 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := simulate(t, gpusOfHost("A", "B", "C", "D"))
			for i := range c.ranks {
				id := []string{"100.1", "101.1"}[i]
				s.trainer(id, "rank", string(rune('0'+i)))
				s.bear(id, 2, 50)
			}
			s.others(30, onCPU, c.busy, -1)
			e := s.evidence()
			want(t, e, c.want)
			if v, _ := e.Get(metric.DeviceTime); v.Basis != metric.Inferred {
				t.Errorf("device time is %v", v.Basis)
			}
			if _, ok := e.Get(metric.GPUBusy); !ok && !strings.Contains(e.Facts.GPUWhyNot, "which of the") {
				t.Errorf("why not: %q", e.Facts.GPUWhyNot)
			}
		})
	}
}

// barredFrom is gpusOfHost with an environment that keeps the job off some.
func barredFrom(h recording.Header, uuids ...string) recording.Header {
	for i := range h.Host.GPUs {
		h.Host.GPUs[i].Barred = slices.Contains(uuids, h.Host.GPUs[i].UUID)
	}
	return h
}

// TestGPUOfTheEnvironment: in a container with four GPUs that three jobs share, and no list of processes that means
// anything there, the environment says which is the job's.
func TestGPUOfTheEnvironment(t *testing.T) {
	busy := map[string]float64{"gpu/A": 0.97, "gpu/B": 0.3, "gpu/C": 0.9, "gpu/D": 0}
	for name, c := range map[string]struct {
		barred []string
		busy   float64
		count  float64
		gpu    string
		why    string
	}{
		"one":                    {[]string{"A", "C", "D"}, 0.3, 1, "B", ""},
		"one and one that idles": {[]string{"A", "C"}, 0.3, 1, "B", ""},
		"two":                    {[]string{"A", "D"}, absent, 2, "B", "which of the 2 GPUs"},
		"not told":               {nil, absent, 3, "A", "which of the 3 GPUs"},
		"all": {[]string{"A", "B", "C", "D"}, absent, absent, "",
			"CUDA_VISIBLE_DEVICES keeps the job off"},
		"changed in Python": {[]string{"A", "B", "C"}, absent, absent, "", "are not those that CUDA_VISIBLE_DEVICES"},
	} {
		h := barredFrom(gpusOfHost("A", "B", "C", "D"), c.barred...)
		for i := range h.Host.GPUs {
			h.Host.GPUs[i].Name = h.Host.GPUs[i].UUID
		}
		e := besideGPUs(t, h, busy, -1)
		t.Run(name, func(t *testing.T) {
			want(t, e, map[metric.Desc]float64{metric.GPUBusy: c.busy, metric.GPUCount: c.count})
			if why, _ := e.WhyMissing(metric.GPUBusy); !strings.Contains(why, c.why) || (why == "") != (c.why == "") {
				t.Errorf("missing because %q, want %q", why, c.why)
			}
			if e.Facts.GPUName != c.gpu {
				t.Errorf("the job's GPU is %q, want %q", e.Facts.GPUName, c.gpu)
			}
			if reported := len(c.barred) > 0 && c.gpu != ""; warned(e, "CUDA_VISIBLE_DEVICES") != reported {
				t.Errorf("warnings %q", e.Warnings)
			}
			if v, ok := e.Get(metric.GPUBusy); ok && v.Basis != metric.Inferred {
				t.Errorf("basis %v", v.Basis)
			}
		})
	}
}

// TestClockHeldDown takes what the clock lacks only where a reason that costs speed was read with it.
func TestClockHeldDown(t *testing.T) {
	const capped, idles = 0x4, 0x1
	for name, c := range map[string]struct {
		reasons, clock, highest, want float64
	}{
		"held down":         {capped, 1500e6, 2000e6, 0.125}, // by a quarter, in half of the readings
		"at its highest":    {capped, 2000e6, 2000e6, 0},
		"above its highest": {capped, 2100e6, 2000e6, 0},
		"low while idle":    {idles, 300e6, 2000e6, 0},
		"no bits":           {-1, 1500e6, 2000e6, 0},
		"no highest":        {capped, 1500e6, 0, absent},
	} {
		s := twoWorkers(t, gpusOfHost("A"))
		m := onCPU
		m.gpu = 0.8
		for second := range 30 {
			reasons := 0.0
			if second%2 == 0 {
				reasons = c.reasons
			}
			s.r.Add(metric.GPUThrottle, "gpu/A", reasons)
			s.r.Add(metric.GPUSMClock, "gpu/A", c.clock)
			s.r.Add(metric.GPUSMClockMax, "gpu/A", c.highest)
			s.run(1, m)
		}
		t.Log(name)
		want(t, s.evidence(), map[metric.Desc]float64{metric.GPUClockLost: c.want})
	}
}

// TestEnginesGoBeforeSamples: the driver's samples count copies from pageable memory, which what the engines report
// does not.
func TestEnginesGoBeforeSamples(t *testing.T) {
	s := twoWorkers(t, gpusOfHost("A"))
	m := onCPU
	m.gpu = 0.32
	for range 30 {
		s.r.Add(metric.GPUGraphics, "gpu/A", 0.17)
		s.run(1, m)
	}
	want(t, s.evidence(), map[metric.Desc]float64{metric.GPUBusy: 0.17})
}
