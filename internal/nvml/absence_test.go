package nvml

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
)

func TestNoLibrary(t *testing.T) {
	s := New(time.Now)
	s.places = []string{"libnvidia-ml-of-nobody.so.1", "/nonexistent/" + soname}
	want := &Unavailable{Reason: "no NVML library (libnvidia-ml.so.1) on this machine", Cure: cureDriver}
	if diff := cmp.Diff(want, s.open().Unavailable); diff != "" {
		t.Error(diff)
	}
	s.Close()
}

func TestFileThatIsNoLibrary(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, soname), []byte("\x1b[31mnot an ELF file, but long enough to be read "+
		"as one by the linker"), 0o600))
	inventory, err := open(t, child(t, "LD_LIBRARY_PATH="+dir))
	if err != nil || inventory.Unavailable == nil || !strings.Contains(inventory.Unavailable.Reason,
		"invalid ELF header") {
		t.Errorf("%+v, %v", inventory, err)
	}
}

func TestNothingSupported(t *testing.T) {
	inventory, reading := mustTake(t, driver(t, "unsupported\n"), 1)
	if len(inventory.Devices) != 2 || inventory.Devices[0].GPM || inventory.Devices[0].MIG != nil ||
		inventory.Devices[0].MemoryBytes != 0 {
		t.Errorf("inventory: %+v", inventory)
	}
	d := reading.Devices[0]
	for _, signal := range metric.GPU { // each is read or named as missing
		if why := d.Absent[signal.Name]; signal != metric.GPULost && why != "not supported by this GPU or driver" {
			t.Errorf("%s: %q", signal.Name, why)
		}
	}
	d.Absent = nil
	if diff := cmp.Diff(DeviceReading{UUID: secondUUID}, d, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("a value was read: %s", diff)
	}
}

func TestAbsenceIsToldOnce(t *testing.T) {
	c := driver(t, "unsupported\n")
	mustTake(t, c, 1)
	again, err := take(t, c, Request{Slow: true, Processes: true})
	if err != nil || len(again.Devices[0].Absent) != 0 {
		t.Errorf("told again: %v, %v", again.Devices[0].Absent, err)
	}
}

// TestMissingFunctions leaves out each function that is called, one at a time: in an older driver it does not exist,
// and calling it would end the process.
func TestMissingFunctions(t *testing.T) {
	for _, tc := range []struct {
		function string
		signal   metric.Desc // absent then, with those that are read as one; none when another call takes its place
	}{
		{"nvmlDeviceGetSamples", metric.Desc{}},
		{"nvmlDeviceGetMemoryInfo", metric.Desc{}},
		{"nvmlDeviceGetMemoryInfo_v2", metric.Desc{}}, // before driver 510
		{"nvmlDeviceGetProcessUtilization", metric.GPUOthersUtil},
		{"nvmlDeviceGetMinorNumber", metric.Desc{}},
		{"nvmlDeviceGetHandleByPciBusId_v2", metric.Desc{}},
		{"nvmlDeviceGetPowerUsage", metric.GPUPower},
		{"nvmlDeviceGetEnforcedPowerLimit", metric.GPUPowerLimit},
		{"nvmlDeviceGetClockInfo", metric.GPUSMClock},
		{"nvmlDeviceGetMaxClockInfo", metric.GPUSMClockMax},
		{"nvmlDeviceGetCurrentClocksEventReasons", metric.Desc{}}, // before driver 535
		{"nvmlDeviceGetCurrPcieLinkGeneration", metric.GPUPcieGen},
		{"nvmlDeviceGetMaxPcieLinkGeneration", metric.GPUPcieGen},
		{"nvmlDeviceGetCurrPcieLinkWidth", metric.GPUPcieGen},
		{"nvmlDeviceGetMaxPcieLinkWidth", metric.GPUPcieGen},
		{"nvmlDeviceGetPcieThroughput", metric.GPUPcieRx},
		{"nvmlDeviceGetFieldValues", metric.Desc{}},
		{"nvmlDeviceGetComputeRunningProcesses_v3", metric.Desc{}}, // before driver 510
		{"nvmlDeviceGetMigMode", metric.Desc{}},
		{"nvmlDeviceGetPciInfo_v3", metric.Desc{}},
		{"nvmlDeviceGetUUID", metric.Desc{}},
		{"nvmlDeviceGetName", metric.Desc{}},
		{"nvmlSystemGetDriverVersion", metric.Desc{}},
		{"nvmlInit_v2", metric.Desc{}},
		{"nvmlDeviceGetCount_v2", metric.Desc{}},
		{"nvmlDeviceGetHandleByIndex_v2", metric.Desc{}},
		{"nvmlGpmQueryDeviceSupport", metric.GPUSMActivity}, // before driver 520
		{"nvmlGpmSampleAlloc", metric.GPUSMActivity},
		{"nvmlGpmSampleGet", metric.GPUSMActivity},
		{"nvmlGpmMetricsGet", metric.GPUSMActivity},
		{"nvmlGpmSampleFree", metric.GPUSMActivity},
	} {
		t.Run(tc.function, func(t *testing.T) {
			t.Parallel()
			c := driver(t, "gpm\n", tc.function)
			inventory, err := open(t, c)
			if err != nil || inventory.Unavailable != nil || len(inventory.Devices) != 2 {
				t.Fatalf("open: %+v, %v", inventory, err)
			}
			reading := must.Get(take(t, c, Request{Slow: true, Processes: true}))(t)
			absent := reading.Devices[1].Absent
			want := "this driver has no " + tc.function
			for signal, why := range absent {
				if why != want || tc.signal.Name == "" {
					t.Errorf("%s is absent: %s", signal, why)
				}
			}
			if tc.signal.Name != "" && absent[tc.signal.Name] != want {
				t.Errorf("absent: %v", absent)
			}
			if c.Starts() != 1 {
				t.Errorf("%d starts", c.Starts())
			}
		})
	}
	t.Run("all that can be missing", func(t *testing.T) {
		c := driver(t, "", "nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2",
			"nvmlDeviceGetSamples", "nvmlDeviceGetMemoryInfo", "nvmlDeviceGetMemoryInfo_v2",
			"nvmlDeviceGetUtilizationRates", "nvmlDeviceGetCurrentClocksEventReasons",
			"nvmlDeviceGetCurrentClocksThrottleReasons")
		_, reading := mustTake(t, c, 1)
		d := reading.Devices[0]
		if d.Absent[metric.GPUUtil.Name] != "this driver has no nvmlDeviceGetUtilizationRates" ||
			!strings.Contains(d.Absent[metric.GPUThrottle.Name], " or ") ||
			d.Absent[metric.GPUMemUsed.Name] != "this driver has no nvmlDeviceGetMemoryInfo" {
			t.Errorf("absent: %v", d.Absent)
		}
		if len(d.Processes) != 2 || d.Processes[0].PID != 1000 || d.Processes[1].PID != 1001 ||
			*d.Processes[0].MemoryBytes != 5<<30 {
			t.Errorf("processes by the first version of the call: %+v", d.Processes)
		}
	})
	for _, functions := range [][]string{{"nvmlInit_v2", "nvmlInit"}, {"nvmlShutdown"}, {"nvmlDeviceGetCount_v2",
		"nvmlDeviceGetCount"}, {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"}} {
		t.Run("without "+functions[0], func(t *testing.T) {
			c := driver(t, "", functions...)
			inventory, err := open(t, c)
			if err != nil || inventory.Unavailable == nil || inventory.Unavailable.Reason == "" || c.Starts() != 1 {
				t.Errorf("%+v, %v", inventory, err)
			}
		})
	}
}

func TestUtilizationWithoutBuffer(t *testing.T) {
	_, reading := mustTake(t, driver(t, "fail nvmlDeviceGetSamples 3\n"), 1)
	if d := reading.Devices[0]; d.Values[metric.GPUUtil.Name] != 0.77 {
		t.Errorf("got %+v", d)
	}
	_, reading = mustTake(t, driver(t, "fail nvmlDeviceGetSamples 6\n"), 3)
	if d := reading.Devices[0]; has(d, metric.GPUUtil) || d.Absent[metric.GPUUtil.Name] != "" {
		t.Errorf("no new sample is neither a value nor a fault: %+v", d)
	}
}

func TestPCIeWithoutCounters(t *testing.T) {
	_, reading := mustTake(t, driver(t, ""), 1)
	if d := reading.Devices[0]; d.Values[metric.GPUPcieRx.Name] != 2e6 {
		t.Errorf("got %v", d.Values)
	}
}

// TestProcessesOfAGPU holds apart what a list may say: nobody computes on the GPU, and nobody was asked. The
// Multi-Process Service keeps a list of its own.
func TestProcessesOfAGPU(t *testing.T) {
	nobody := "owner " + filepath.Join(t.TempDir(), "nobody") + "\n"
	memory := float64(3 << 30)
	for _, c := range []struct {
		name, config string
		missing      []string
		want         []Process
	}{
		{"none", nobody, nil, []Process{}},
		{"a client of the service", nobody + "client 7000\n", nil, []Process{{PID: 7000, MemoryBytes: &memory}}},
		{"a driver without such a list", nobody, []string{"nvmlDeviceGetMPSComputeRunningProcesses_v3"}, []Process{}},
		{"a GPU without the service", nobody + "fail nvmlDeviceGetMPSComputeRunningProcesses_v3 3\n", nil, []Process{}},
		{"a list that cannot be had", nobody + "fail nvmlDeviceGetMPSComputeRunningProcesses_v3 4\n", nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, reading := mustTake(t, driver(t, c.config, c.missing...), 1)
			if diff := cmp.Diff(c.want, reading.Devices[0].Processes); diff != "" {
				t.Error(diff)
			}
			if _, absent := reading.Devices[0].Absent[metric.GPUJobMemory.Name]; absent != (c.want == nil) {
				t.Errorf("absent: %v", reading.Devices[0].Absent)
			}
		})
	}
}
