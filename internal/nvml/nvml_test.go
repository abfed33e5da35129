package nvml

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "__child" {
		requests, answers := isolate.Pipes()
		s := New(time.Now)
		if folder := os.Getenv(fakeProc); folder != "" {
			s.proc = folder
		}
		os.Exit(isolate.Serve(isolate.Table{Task: isolate.Decoded(s.Handle)}, os.Args[2], requests, answers))
	}
	os.Exit(m.Run())
}

// fakeProc names, to a child, the folder that stands for driverFolder.
const fakeProc = "FAKE_DRIVER_PROC"

const (
	firstUUID  = "GPU-00000001-0000-0000-0000-000000000000" // at index 1 of two
	secondUUID = "GPU-00000002-0000-0000-0000-000000000000" // at index 0 of two
)

// driver starts a child that finds a fake libnvidia-ml the way a real one is found.
func driver(t *testing.T, config string, missing ...string) *isolate.Child {
	t.Helper()
	return child(t, "LD_LIBRARY_PATH="+BuildDriver(t, config, missing...))
}

// BuildDriver builds a fake libnvidia-ml that lacks some functions and behaves by config, and returns its folder.
func BuildDriver(t *testing.T, config string, missing ...string) string {
	t.Helper()
	dir := t.TempDir()
	args := []string{"-shared", "-fPIC", "-O1", "-w", "-o", filepath.Join(dir, soname),
		"../../testdata/fakenvml/fakenvml.c"}
	for _, function := range missing {
		args = append(args, "-DNO_"+function)
	}
	if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("building the fake library: %v\n%s", err, out)
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, "fakenvml.conf"), []byte(config), 0o600))
	return dir
}

// child starts a child whose environment begins with where the library is.
func child(t *testing.T, environ ...string) *isolate.Child {
	t.Helper()
	runner := isolate.New(isolate.Config{Args: []string{"__child"}, Environ: environ, Extra: environ[1:]})
	t.Cleanup(runner.Close)
	c := runner.Child(isolate.Spec{Task: Task, Timeout: 2 * time.Second,
		Limits: isolate.Limits{MemoryBytes: 256 << 20}})
	t.Cleanup(func() { checkMemory(t, runner.Children()) })
	return c
}

// checkMemory holds the children to the 64 MiB that garbage may not push them beyond.
func checkMemory(t *testing.T, pids []int) {
	t.Helper()
	peak := regexp.MustCompile(`VmHWM:\s+(\d+) kB`)
	for _, pid := range pids {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			continue
		}
		if found := peak.FindSubmatch(status); found != nil {
			if kib, _ := strconv.Atoi(string(found[1])); kib > 64<<10 {
				t.Errorf("the child grew to %d MiB", kib>>10)
			}
		}
	}
}

// open opens the library and each GPU, and returns the inventory with these in it.
func open(t *testing.T, c *isolate.Child) (Inventory, error) {
	t.Helper()
	inventory, err := isolate.Ask[Request, Inventory](t.Context(), c, Request{Op: OpOpen})
	if err != nil {
		return inventory, err
	}
	listed := inventory.Devices
	inventory.Devices = nil
	for _, d := range listed {
		opened, err := openGPU(t, c, d.Place)
		if err != nil {
			return inventory, err
		}
		inventory.Devices = append(inventory.Devices, opened.Devices...)
	}
	return inventory, nil
}

func openGPU(t *testing.T, c *isolate.Child, place string) (Opened, error) {
	t.Helper()
	return isolate.Ask[Request, Opened](t.Context(), c, Request{Op: OpOpenGPU, Place: place})
}

func take(t *testing.T, c *isolate.Child, asked Request) (Reading, error) {
	t.Helper()
	asked.Op = OpSample
	return isolate.Ask[Request, Reading](t.Context(), c, asked)
}

// mustTake opens and takes a number of readings, all slow and with processes, and returns the last.
func mustTake(t *testing.T, c *isolate.Child, readings int) (Inventory, Reading) {
	t.Helper()
	inventory, err := open(t, c)
	if err != nil || inventory.Unavailable != nil {
		t.Fatalf("open: %+v, %v", inventory, err)
	}
	var last Reading
	for range readings {
		if last, err = take(t, c, Request{Slow: true, Processes: true}); err != nil {
			t.Fatal(err)
		}
	}
	return inventory, last
}

// has reports whether a signal was read.
func has(d DeviceReading, signal metric.Desc) bool {
	_, read := d.Values[signal.Name]
	return read
}

func TestTwoGPUs(t *testing.T) {
	c := driver(t, "name Fake\\x1b[31m|GPU\ncounters\ngpm\n")
	inventory := must.Get(open(t, c))(t)
	no, minors := false, []int{0, 1}
	want := Inventory{Driver: `999.99\x1b[1m`, Devices: []Device{
		{UUID: secondUUID, Place: "#0", Minor: &minors[0], Name: `Fake\x1b[31m|GPU`, MemoryBytes: 80 << 30, MIG: &no,
			GPM: true, PCI: "00000000:00000010:00000000"},
		{UUID: firstUUID, Place: "#1", Minor: &minors[1], Name: `Fake\x1b[31m|GPU`, MemoryBytes: 80 << 30, MIG: &no,
			GPM: true, PCI: "00000000:00000020:00000000"},
	}}
	if diff := cmp.Diff(want, inventory); diff != "" {
		t.Fatalf("inventory: %s", diff)
	}
	first := must.Get(take(t, c, Request{}))(t)
	if d := first.Devices[0]; has(d, metric.GPUUtil) || has(d, metric.GPUPcieRx) || has(d, metric.GPUSMActivity) ||
		d.Processes != nil {
		t.Errorf("the first reading knows of the time before it, or more than was asked: %+v", d)
	}
	time.Sleep(gpmSpacing + 20*time.Millisecond) // the child's clock is the real one
	second := must.Get(take(t, c, Request{Slow: true, Processes: true}))(t)
	for i, busy := range []float64{0.3, 0.8} {
		want := DeviceReading{UUID: []string{secondUUID, firstUUID}[i], Values: map[string]float64{
			metric.GPUUtil.Name: busy, metric.GPUGraphics.Name: 0.4, metric.GPUMemUsed.Name: float64(i+1) * (1 << 30),
			metric.GPUMemTotal.Name: 80 << 30, metric.GPUPower.Name: 123.456, metric.GPUSMClock.Name: 1410e6,
			metric.GPUThrottle.Name: 4, metric.GPUSMActivity.Name: 0.25, metric.GPUDRAM.Name: 0.125,
			metric.GPUPowerLimit.Name: 700, metric.GPUSMClockMax.Name: 1980e6, metric.GPUPcieGen.Name: 3,
			metric.GPUPcieGenMax.Name: 5, metric.GPUPcieWidth.Name: 8, metric.GPUPcieWidthMx.Name: 16,
			metric.GPUPcieRx.Name: 200 << 20, // that of GPM
		}, Processes: []Process{{PID: uint32(1000 * (i + 1)), MemoryBytes: new(float64(5 << 30))},
			{PID: uint32(1000*(i+1) + 1)}}}
		if diff := cmp.Diff(want, second.Devices[i]); diff != "" {
			t.Errorf("GPU %d: %s", i, diff)
		}
	}
	if _, err := isolate.Ask[Request, struct{}](t.Context(), c, Request{Op: OpClose}); err != nil {
		t.Errorf("close: %v", err)
	}
	if _, err := take(t, c, Request{}); err == nil {
		t.Error("a closed library was sampled")
	}
	if again, err := open(t, c); err != nil || len(again.Devices) != 2 {
		t.Errorf("opening again: %+v, %v", again, err)
	}
}
