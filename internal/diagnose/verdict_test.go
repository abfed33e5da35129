package diagnose

import (
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/internal/step"
	"github.com/pipetune/pipetune/pkg/report"
)

func TestVerdict(t *testing.T) {
	lead := []Rule{finds("x/lead", 0.3, report.CPU)}
	byIdle := []Rule{always("x/idle", report.CPU, report.Finding{Score: 0.3, Evidence: []report.Evidence{
		{Metric: metric.IdleWhileWaits.Name, Value: 1, Unit: string(metric.Ratio), Basis: report.Measured}}})}
	tests := []struct {
		name       string
		signals    readings
		rules      []Rule
		class      report.Class
		resource   report.Resource
		confidence report.Confidence
		says       string
	}{
		{"high input wait", readings{"input_wait_ratio": 0.6, "host_ratio": 0.05, "device_ratio": 0.35,
			"worker_busy_ratio": 0.97}, lead, report.InputBound, report.CPU, report.High,
			"waits for data 60 % of the time; its 2 workers are busy 97 % of the time"},
		{"moderate input wait", readings{"input_wait_ratio": 0.12, "host_ratio": 0.05, "device_ratio": 0.83}, lead,
			report.InputBound, report.CPU, report.High, "moderately input-bound"},
		{"moderate wait, but the host takes more", readings{"input_wait_ratio": 0.12, "host_ratio": 0.6,
			"device_ratio": 0.28}, lead, report.HostBound, "", report.High,
			"the main thread itself runs on the CPU 60 %"},
		{"moderate wait that nothing explains", readings{"input_wait_ratio": 0.07, "host_ratio": 0.03,
			"device_ratio": 0.9}, []Rule{finds("x/minor", 0.01, report.HDF5)}, report.GPUBound, "", report.Medium,
			"nearly ready in time"},
		{"no workers", readings{"num_workers": 0, "loads_in_main_ratio": 0.5, "host_ratio": 0.5, "device_ratio": 0.5},
			[]Rule{finds("x/zero", 0.5, report.MainProcess)}, report.InputBound, report.MainProcess, report.Medium,
			"num_workers=0"},
		{"the GPU is busy", readings{"input_wait_ratio": 0.01, "host_ratio": 0.02, "device_ratio": 0.97,
			"gpu_busy_ratio": 0.97}, nil, report.GPUBound, "", report.High,
			"The GPU is busy 97 % of the time and lacks data 1 %"},
		{"a device is inferred", readings{"input_wait_ratio": 0.01, "host_ratio": 0.02, "device_ratio": 0.97}, nil,
			report.GPUBound, "", report.Medium, "no GPU counters confirm it"},
		{"copies fill the link", readings{"input_wait_ratio": 0.01, "host_ratio": 0.3, "device_ratio": 0.5,
			"gpu_busy_ratio": 0.5, "gpu_pcie_rx_rate_bytes_per_s": 24e9, "copy_ratio": 0.8}, nil,
			report.TransferBound, "", report.High, "Copies to the GPU take 80 %"},
		{"nothing dominates", readings{"input_wait_ratio": 0.04, "host_ratio": 0.45, "device_ratio": 0.49}, nil,
			report.Balanced, "", report.High, "input wait 4 %, CPU work 45 %, device 49 %"},
		{"some wait beside a device that mostly works", readings{"input_wait_ratio": 0.14, "host_ratio": 0.09,
			"device_ratio": 0.76, "gpu_busy_ratio": 0.76}, nil, report.Balanced, "", report.High,
			"The device works for most of the step and lacks data for some of it: data stall 14 %"},
		{"the same while evaluations take most of all time", readings{"input_wait_ratio": 0.08, "host_ratio": 0.08,
			"device_ratio": 0.74, "gpu_busy_ratio": 0.3, "evaluation_ratio": 0.73}, nil, report.Balanced, "",
			report.High, "which stands still 73 % of all time while the model is evaluated"},
		{"hardly any wait beside it", readings{"input_wait_ratio": 0.01, "host_ratio": 0.19, "device_ratio": 0.8,
			"gpu_busy_ratio": 0.8}, nil, report.Balanced, "", report.High,
			"Nothing was found that holds the step back"},
		{"high wait that nothing explains, and the host surely takes more", readings{"input_wait_ratio": 0.25,
			"host_ratio": 0.54, "device_ratio": 0.21, "gpu_busy_ratio": 0.21}, nil, report.HostBound, "", report.High,
			"The GPU lacks data 25 % of the time, but the main thread itself runs on the CPU 54 %"},
		{"the same, and what the host does is not known", readings{"input_wait_ratio": 0.25, "host_ratio": 0.54,
			"device_ratio": 0.21}, nil, report.InputBound, "", report.Medium, "waits for data 25 % of the time"},
		{"no rule explains the wait", readings{"input_wait_ratio": 0.6, "device_ratio": 0.4,
			"worker_storage_wait_ratio": 0.9, "worker_running_ratio": 0.1}, nil,
			report.InputBound, report.OnStorage, report.Medium, "waits for data 60 %"},
		{"a process that only sleeps", readings{"num_workers": 0, "loads_in_main_ratio": 0, "host_ratio": 0,
			"device_ratio": 1}, nil, report.Inconclusive, report.NoResource, report.Low,
			"nothing of a training job was seen"},
		{"idle workers that the first cause does not ask for", readings{"input_wait_ratio": 0.6, "device_ratio": 0.4,
			"idle_workers_while_waiting_ratio": 1}, lead, report.InputBound, report.CPU, report.Medium, ""},
		{"idle workers that show the first cause", readings{"input_wait_ratio": 0.6, "device_ratio": 0.4,
			"idle_workers_while_waiting_ratio": 1}, byIdle, report.InputBound, report.CPU, report.High, ""},
		{"a short window", readings{"window_s": 2, "input_wait_ratio": 0.6}, lead,
			report.Inconclusive, "", report.Low, "only 2 s could be watched"},
		{"a stopped job", readings{"trainer_stopped_ratio": 0.9, "input_wait_ratio": 0.6}, lead,
			report.Inconclusive, "", report.Low, "stopped or frozen 90 %"},
		{"too few samples", readings{"look_coverage_ratio": 0.1, "input_wait_ratio": 0.6}, lead,
			report.Inconclusive, "", report.Low, "10 % of the planned samples"},
		{"a busy machine takes the samples", readings{"look_coverage_ratio": 0.3, "input_wait_ratio": 0.6,
			"device_ratio": 0.4}, lead, report.InputBound, report.CPU, report.Low, ""},
		{"nothing was seen of the trainer", nil, lead, report.Inconclusive, "", report.Low, "could not be followed"},
		{"system calls are hidden", readings{"input_wait_ratio": 0.6, "device_ratio": 0.4,
			"syscall_visible_ratio": 0}, lead, report.InputBound, report.CPU, report.Medium, ""},
		{"few steps", readings{"input_wait_ratio": 0.6, "device_ratio": 0.4, "batches_per_s": 0.3}, lead,
			report.InputBound, report.CPU, report.Medium, ""},
		{"hardly a step", readings{"input_wait_ratio": 0.6, "device_ratio": 0.4, "batches_per_s": 0.05}, lead,
			report.InputBound, report.CPU, report.Low, ""},
		{"the wait is hidden behind the GPU", readings{"input_wait_ratio": 0.74, "data_stall_ratio": 0.09,
			"device_ratio": 0.91, "gpu_busy_ratio": 0.91}, nil, report.GPUBound, "", report.Medium,
			"waits for data 74 % of the time, but behind work that is already queued: the GPU idles 9 %"},
		{"the GPU is busy half the time", readings{"input_wait_ratio": 0.01, "host_ratio": 0.47, "device_ratio": 0.53,
			"gpu_busy_ratio": 0.53}, nil, report.HostBound, "", report.High,
			"the main thread itself runs on the CPU 47 %"},
		{"busy in name only", readings{"input_wait_ratio": 0.01, "host_ratio": 0.02, "device_ratio": 0.93,
			"gpu_busy_ratio": 0.93, "gpu_sm_activity": 0.1}, nil, report.HostBound, "", report.High, ""},
		{"across the line", readings{"input_wait_ratio": 0.2, "device_ratio": 0.7}, lead,
			report.InputBound, report.CPU, report.Medium, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := Run(saw(evidence.Facts{}, with(tt.signals)), tt.rules)
			v := r.Verdict
			if v.Class != tt.class || v.Resource != tt.resource || v.Confidence != tt.confidence {
				t.Errorf("got %s, %q, %s (doubts %q), want %s, %q, %s", v.Class, v.Resource, v.Confidence, v.Doubts,
					tt.class, tt.resource, tt.confidence)
			}
			if !strings.Contains(v.Statement, tt.says) {
				t.Errorf("statement %q lacks %q", v.Statement, tt.says)
			}
			if (v.Confidence == report.High) != (len(v.Doubts) == 0) {
				t.Errorf("confidence %s with doubts %q", v.Confidence, v.Doubts)
			}
			if err := r.Validate(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestStallThatMayBeNothing has a trainer without workers that waits for a server in each step, which may be for its
// data or for its log. Only where that is the largest part of the step all the same is it called the limit.
func TestStallThatMayBeNothing(t *testing.T) {
	for device, class := range map[float64]report.Class{0.72: report.GPUBound, 0.2: report.InputBound} {
		values := map[string]evidence.Value{}
		for name, v := range map[string]stat.Summary{"loads_in_main_ratio": {Center: 0.22, Hi: 0.24},
			"num_workers":  stat.Exact(0),
			"device_ratio": stat.Exact(device), "host_ratio": stat.Exact(0.04), "window_s": stat.Exact(25)} {
			v.N, v.Confidence = 20, 0.95
			values[name] = evidence.Value{Summary: v, Basis: metric.Measured}
		}
		e := evidence.New(values, evidence.Facts{Framework: "pytorch"})
		if v := Run(e, nil).Verdict; v.Class != class {
			t.Errorf("the device works %v of the time: %s (%s), want %s", device, v.Class, v.Statement, class)
		}
	}
}

func TestWorstRankIsNamed(t *testing.T) {
	e := saw(evidence.Facts{}, with(readings{"input_wait_ratio": 0.6, "device_ratio": 0.4}))
	wait := evidence.Value{}
	wait.Center = 0.6
	e.Ranks = []evidence.Rank{{Name: "3", PID: 7, InputWait: &wait}, {Name: "0", PID: 5}}
	r := Run(e, nil)
	if !strings.Contains(r.Verdict.Statement, "rank 3, of 2 trainers") {
		t.Errorf("statement %q does not name the rank", r.Verdict.Statement)
	}
	if len(r.Ranks) != 2 || !r.Ranks[0].Worst || r.Ranks[1].InputWaitRatio != nil {
		t.Errorf("ranks %+v", r.Ranks)
	}
}

// TestOthersOnTheGPULead: where others compute on the job's GPU for long, leaving it is what to do first.
func TestOthersOnTheGPULead(t *testing.T) {
	shared := finds("gpu/shared", 0.5, report.NoResource)
	for others, rule := range map[float64]string{0.5: "gpu/shared", 0.1: "gpu/bound"} {
		shared.Eval = func(p *Pass) { p.Report(report.Finding{Score: others}) }
		bound := finds("gpu/bound", 0, report.NoResource)
		v := Run(saw(evidence.Facts{}, with(readings{"input_wait_ratio": 0.01, "device_ratio": 0.98,
			"gpu_busy_ratio": 0.98, "gpu_others_busy_ratio": others})), []Rule{shared, bound}).Verdict
		if v.Class != report.GPUBound || v.Rule != rule || !strings.Contains(v.Statement, "with work of other "+
			"processes") {
			t.Errorf("others %g: %s, %s, %q", others, v.Class, v.Rule, v.Statement)
		}
	}
}

// TestTheJobsOwnClockIsBelieved: without a counter of the GPU what the job's clock of it says holds, and nothing else
// does.
func TestTheJobsOwnClockIsBelieved(t *testing.T) {
	for least, want := range map[float64]struct {
		confidence report.Confidence
		says       bool
	}{0.58: {report.Medium, true}, 0: {report.Low, false}} {
		signals := with(readings{"input_wait_ratio": 0.6, "data_stall_ratio": 0.6})
		values := map[string]evidence.Value{}
		for name, x := range signals {
			values[name] = evidence.Value{Summary: stat.Summary{Center: x, Lo: x, Hi: x, Confidence: 0.95, N: 20}}
		}
		values["data_stall_ratio"] = evidence.Value{Summary: stat.Summary{Center: 0.6, Lo: least, Hi: 0.62,
			Confidence: 0.95, N: 20}}
		e := evidence.New(values, evidence.Facts{})
		e.Ranks = []evidence.Rank{{Name: "0", Step: &step.Step{Sight: step.Unseen,
			Stall: step.Range{Lo: least, Likely: 0.6, Hi: 0.62}, Free: step.Range{Lo: 0.4, Likely: 0.4, Hi: 0.4}}}}
		v := Run(e, []Rule{finds("x/lead", 0.5, report.CPU)}).Verdict
		if says := strings.Contains(v.Statement, "its GPU idles for lack of it"); v.Confidence != want.confidence ||
			says != want.says {
			t.Errorf("at least %g: %s, %q, %q", least, v.Confidence, v.Statement, v.Doubts)
		}
	}
}

// TestSurelyTheHost: where nothing explains the stall, the host is what to change only where it surely takes more.
func TestSurelyTheHost(t *testing.T) {
	for _, c := range []struct {
		name    string
		stall   stat.Summary
		loading float64
		want    report.Class
	}{
		{"the stall may be more", stat.Summary{Center: 0.22, Hi: 0.43}, 0.22, report.InputBound},
		{"the host takes more", stat.Summary{Center: 0.22, Lo: 0.2, Hi: 0.3}, 0.22, report.HostBound},
		{"loading holds back more than starves", stat.Summary{Center: 0.22, Lo: 0.2, Hi: 0.3},
			0.35, report.InputBound},
	} {
		s := split{seen: true, sight: step.Counted, stall: evidence.Value{Summary: c.stall}, loading: c.loading,
			host: 0.32, hostOK: true, device: 0.43, devOK: true}
		if got := classify(saw(evidence.Facts{}, nil), s, false); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
