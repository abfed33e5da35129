package nvml

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
)

// halfBusy computes every other 50 ms, with half of the SMs.
const halfBusy = `
import sys, time
sys.path.insert(0, sys.argv[1])
import device
gpu = device.Device(folder=sys.argv[2], sync="block")
while True:
    gpu.launch(0.05, 0.5)
    gpu.sync()
    gpu.step()
    time.sleep(0.05)
`

// TestStandIn holds what is read of the stand-in GPU of testdata/device to its own timeline, and of two instances that
// it is cut into: the job computes on the first.
func TestStandIn(t *testing.T) {
	for conf, want := range map[string][]Device{
		"mig=0": {{UUID: "GPU-5d000000-0000-4000-8000-000000000001", Name: "Stand-in GPU", MemoryBytes: 80 << 30}},
		"mig=2": {
			{UUID: "MIG-5d000000-0000-4000-8000-000000000001", Name: "Stand-in GPU MIG 3g.40gb", MemoryBytes: 40 << 30},
			{UUID: "MIG-5d000000-0000-4000-8000-000000000002", Name: "Stand-in GPU MIG 3g.40gb", MemoryBytes: 40 << 30},
		},
	} {
		t.Run(conf, func(t *testing.T) { standIn(t, conf, want) })
	}
}

const source = "../../testdata/device"

// buildStandIn returns the folder of the libraries.
func buildStandIn(t *testing.T, conf ...string) string {
	dir, timeline := t.TempDir(), "/dev/shm/pipetune-nvml-test-"+time.Now().Format("150405.000000000")
	t.Cleanup(func() { os.Remove(timeline) })
	build := exec.Command(source+"/build.sh", append([]string{dir, "timeline=" + timeline}, conf...)...)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the stand-in: %v\n%s", err, out)
	}
	return dir
}

// TestSliceUncounted: of a slice whose counters the GPU lacks, or refuses, it is said why nothing is known.
func TestSliceUncounted(t *testing.T) {
	for gpm, why := range map[string]string{
		"gpm=0": "needs GPU performance monitoring (Hopper or newer)",
		"gpm=2": ReasonNoPermission,
	} {
		c := child(t, "LD_LIBRARY_PATH="+buildStandIn(t, "mig=2", gpm))
		if found, err := open(t, c); err != nil || len(found.Devices) != 2 {
			t.Fatalf("found %+v, %v", found, err)
		}
		reported := map[string]string{}
		for range 2 { // what is refused when it is read is known after the first reading
			got := must.Get(isolate.Ask[Request, Reading](t.Context(), c, Request{Op: OpSample}))(t)
			d := got.Devices[1]
			if has(d, metric.GPUUtil) || has(d, metric.GPUGraphics) || !has(d, metric.GPUMemUsed) {
				t.Errorf("%s: read %+v", gpm, d)
			}
			maps.Copy(reported, d.Absent)
		}
		utilization := "MIG is enabled, and of a slice nothing but GPU performance monitoring " +
			"shows whether it works: " + why
		if reported[metric.GPUSMActivity.Name] != why || reported[metric.GPUUtil.Name] != utilization {
			t.Errorf("%s: %+v", gpm, reported)
		}
	}
}

func standIn(t *testing.T, conf string, want []Device) {
	python, dir := cmp.Or(os.Getenv("PYTHON"), "python3"), buildStandIn(t, "gpm=1", conf)
	job := exec.Command(python, "-c", halfBusy, source, dir)
	job.Stderr = os.Stderr
	must.Do(t, job.Start())
	defer func() {
		job.Process.Kill()
		job.Wait()
	}()

	c := child(t, "LD_LIBRARY_PATH="+dir)
	found, err := open(t, c)
	if err != nil || len(found.Devices) != len(want) {
		t.Fatalf("found %+v, %v", found, err)
	}
	for i, d := range found.Devices {
		cut := len(want) > 1
		got := Device{UUID: d.UUID, Name: d.Name, MemoryBytes: d.MemoryBytes}
		if got != want[i] || !d.GPM || *d.MIG != cut ||
			cut != (d.Parent == "GPU-5d000000-0000-4000-8000-000000000001") {
			t.Errorf("found %+v", d)
		}
	}
	// What is counted is of the time from one reading of activity to another, and so is the timeline's truth.
	var busy, samples, active, times, beside, from, to float64
	var here []Process
	for deadline := time.Now().Add(3 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		got := must.Get(isolate.Ask[Request, Reading](t.Context(), c, Request{Op: OpSample, Processes: true}))(t)
		d := got.Devices[0]
		for _, other := range got.Devices[1:] {
			beside += other.Values[metric.GPUSMActivity.Name]
			if has(other, metric.GPUUtil) || len(other.Processes) > 0 {
				t.Errorf("of the instance beside: %+v", other)
			}
		}
		ran := metric.GPUUtil
		if len(want) > 1 { // the driver has no samples of an instance
			ran = metric.GPUGraphics
		}
		if has(d, ran) && from > 0 {
			busy += d.Values[ran.Name]
			samples++
		}
		if has(d, metric.GPUSMActivity) && from > 0 {
			active += d.Values[metric.GPUSMActivity.Name]
			times++
			to = monotonic(t)
		}
		if has(d, metric.GPUSMActivity) && from == 0 && len(d.Processes) > 0 {
			from = monotonic(t)
		}
		here = d.Processes
	}
	if len(here) != 1 || int(here[0].PID) != job.Process.Pid {
		t.Errorf("processes %+v, want %d", here, job.Process.Pid)
	}

	out := must.Get(exec.Command(python, source+"/device.py", "truth", dir, fmt.Sprint(from),
		fmt.Sprint(to)).Output())(t)
	var truth struct{ Ranks []struct{ Busy float64 } }
	if err := json.Unmarshal(out, &truth); err != nil || len(truth.Ranks) != 1 {
		t.Fatalf("%v in %s", err, out)
	}
	ran := truth.Ranks[0].Busy
	if got := busy / samples; !(math.Abs(got-ran) <= 0.05) || ran < 0.1 {
		t.Errorf("busy %.3f by the driver, %.3f by the timeline", got, ran)
	}
	if got := active / times; !(math.Abs(got-ran/2) <= 0.05) {
		t.Errorf("SM activity %.3f, want half of %.3f", got, ran)
	}
	if beside != 0 {
		t.Errorf("SM activity %.3f of the instance beside", beside)
	}
}

// monotonic is the clock of the timeline in seconds.
func monotonic(t *testing.T) float64 {
	var now unix.Timespec
	must.Do(t, unix.ClockGettime(unix.CLOCK_MONOTONIC, &now))
	return float64(now.Nano()) / 1e9
}
