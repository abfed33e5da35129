package nvml

import (
	"cmp"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/isolate"
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

// TestStandIn holds what is read of the stand-in GPU of testdata/device to its own timeline.
func TestStandIn(t *testing.T) {
	const source = "../../testdata/device"
	python, dir := cmp.Or(os.Getenv("PYTHON"), "python3"), t.TempDir()
	timeline := "/dev/shm/pipetune-nvml-test-" + time.Now().Format("150405.000000000")
	defer os.Remove(timeline)
	if out, err := exec.Command(source+"/build.sh", dir, "gpm=1", "timeline="+timeline).CombinedOutput(); err != nil {
		t.Fatalf("building the stand-in: %v\n%s", err, out)
	}
	job := exec.Command(python, "-c", halfBusy, source, dir)
	job.Stderr = os.Stderr
	if err := job.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		job.Process.Kill()
		job.Wait()
	}()

	c := child(t, "LD_LIBRARY_PATH="+dir)
	found, err := open(t, c)
	if err != nil || len(found.Devices) != 1 || !found.Devices[0].GPM {
		t.Fatalf("found %+v, %v", found, err)
	}
	var busy, samples, active, times float64
	var here []Process
	for deadline := time.Now().Add(3 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		got, err := isolate.Ask[Request, Reading](t.Context(), c, Request{Op: OpSample, Processes: true})
		if err != nil {
			t.Fatal(err)
		}
		d := got.Devices[0]
		if d.UtilizationRatio != nil && len(here) > 0 {
			busy += *d.UtilizationRatio * float64(d.UtilizationSamples)
			samples += float64(d.UtilizationSamples)
		}
		if d.SMActivityRatio != nil && len(here) > 0 {
			active += *d.SMActivityRatio
			times++
		}
		here = d.Processes
	}
	if len(here) != 1 || int(here[0].PID) != job.Process.Pid {
		t.Errorf("processes %+v, want %d", here, job.Process.Pid)
	}

	out, err := exec.Command(python, source+"/device.py", "truth", dir).Output()
	if err != nil {
		t.Fatal(err)
	}
	var truth struct{ Ranks []struct{ Busy float64 } }
	if err := json.Unmarshal(out, &truth); err != nil || len(truth.Ranks) != 1 {
		t.Fatalf("%v in %s", err, out)
	}
	want := truth.Ranks[0].Busy
	if got := busy / samples; math.Abs(got-want) > 0.05 || want < 0.1 {
		t.Errorf("busy %.3f by the driver's samples, %.3f by the timeline", got, want)
	}
	if got := active / times; math.Abs(got-want/2) > 0.05 {
		t.Errorf("SM activity %.3f, want half of %.3f", got, want)
	}
}
