package nvml

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
)

// kernelModule is what the NVIDIA kernel module shows of GPUs, by their places on the bus; a minor number of a cut
// one in slices.
func kernelModule(t *testing.T, information map[string]string, slices ...int) (environ string) {
	t.Helper()
	dir := t.TempDir()
	put := func(name, text string) {
		name = filepath.Join(dir, name)
		must.Do(t, os.MkdirAll(filepath.Dir(name), 0o755))
		must.Do(t, os.WriteFile(name, []byte(text), 0o644))
	}
	for place, text := range information {
		put("gpus/"+place+"/information", text)
	}
	for _, minor := range slices {
		put(fmt.Sprintf("capabilities/gpu%d/mig/gi1/access", minor), "")
	}
	return fakeProc + "=" + dir
}

// information is a file as driver 550 writes it.
const information = `Model: 		 NVIDIA A100-SXM4-80GB
IRQ:   		 120
GPU UUID: 	 %s
Video BIOS: 	 92.00.45.00.03
Bus Type: 	 PCIe
DMA Size: 	 47 bits
DMA Mask: 	 0x7fffffffffff
Bus Location: 	 0000:20:00.0
Device Minor: 	 %d
GPU Excluded:	 No
`

// TestListedWithoutOpening: what the kernel's module reports GPUs starts none of them, and one is opened alone.
func TestListedWithoutOpening(t *testing.T) {
	dir := BuildDriver(t, "deny 0 4\n")
	c := child(t, "LD_LIBRARY_PATH="+dir, kernelModule(t, map[string]string{
		"0000:10:00.0": fmt.Sprintf(information, "GPU-????????-????-????-????-????????????", 3), // never started
		"0000:20:00.0": fmt.Sprintf(information, firstUUID, 1),
	}, 3))
	got := must.Get(isolate.Ask[Request, Inventory](t.Context(), c, Request{Op: OpOpen}))(t)
	yes, minors := true, []int{3, 1}
	const model = "NVIDIA A100-SXM4-80GB"
	want := []Device{
		{Place: "00000000:00000010:00000000", PCI: "00000000:00000010:00000000", Minor: &minors[0], Name: model,
			MIG: &yes},
		{Place: "00000000:00000020:00000000", PCI: "00000000:00000020:00000000", Minor: &minors[1], Name: model,
			UUID: firstUUID},
	}
	if diff := cmp.Diff(want, got.Devices); diff != "" {
		t.Error(diff)
	}
	if reading, err := take(t, c, Request{}); err != nil || len(reading.Devices) != 0 {
		t.Errorf("before any is open: %+v, %v", reading, err)
	}
	for range 2 { // a second time it is the same one
		opened, err := openGPU(t, c, want[1].Place)
		if err != nil || len(opened.Devices) != 1 || opened.Devices[0].UUID != firstUUID ||
			opened.Devices[0].Place != want[1].Place {
			t.Fatalf("%+v, %v", opened, err)
		}
	}
	if reading, err := take(t, c, Request{}); err != nil || len(reading.Devices) != 1 ||
		reading.Devices[0].UUID != firstUUID {
		t.Errorf("%+v, %v", reading, err)
	}
	if opened, err := openGPU(t, c, want[0].Place); err != nil || opened.Failed != ReasonNoPermission ||
		len(opened.Devices) != 0 {
		t.Errorf("one that is refused: %+v, %v", opened, err)
	}
	for _, place := range []string{"", "#", "#-1", "#99", "#999", "x", "00000000:000000f0:00000000"} {
		if opened, err := openGPU(t, c, place); err != nil || opened.Failed == "" {
			t.Errorf("%q: %+v, %v", place, opened, err)
		}
	}
	if c.Starts() != 1 {
		t.Errorf("%d starts", c.Starts())
	}
}

// TestListedByIndex: where the module does not report as many GPUs as NVML counts, or they cannot be opened by their
// places, indices are used.
func TestListedByIndex(t *testing.T) {
	one := kernelModule(t, map[string]string{"0000:10:00.0": fmt.Sprintf(information, firstUUID, 0)})
	two := kernelModule(t, map[string]string{"0000:10:00.0": "", "0000:20:00.0": ""})
	for name, c := range map[string]*isolate.Child{
		"one of two":   child(t, "LD_LIBRARY_PATH="+BuildDriver(t, ""), one),
		"no such call": child(t, "LD_LIBRARY_PATH="+BuildDriver(t, "", byPCI), two),
		"none":         child(t, "LD_LIBRARY_PATH="+BuildDriver(t, ""), fakeProc+"="+t.TempDir()),
		"an unknown folder": child(t, "LD_LIBRARY_PATH="+BuildDriver(t, ""), kernelModule(t,
			map[string]string{"0000:10:00.0": "", "by-name": ""})),
	} {
		got, err := isolate.Ask[Request, Inventory](t.Context(), c, Request{Op: OpOpen})
		if diff := cmp.Diff([]Device{{Place: "#0"}, {Place: "#1"}}, got.Devices); err != nil || diff != "" {
			t.Errorf("%s: %v, %s", name, err, diff)
		}
	}
}

// TestRefusedIsNotLost: only a GPU that the driver calls lost is lost.
func TestRefusedIsNotLost(t *testing.T) {
	for code, want := range map[int]Opened{
		4:  {Failed: ReasonNoPermission},
		20: {Failed: "the driver is out of memory"},
		15: {Devices: []Device{{UUID: "unknown-0", Place: "#0", Lost: true}}},
	} {
		c := driver(t, fmt.Sprintf("deny 0 %d\n", code))
		must.Get(isolate.Ask[Request, Inventory](t.Context(), c, Request{Op: OpOpen}))(t)
		got, err := openGPU(t, c, "#0")
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("code %d: %v, %s", code, err, diff)
		}
		if other, err := openGPU(t, c, "#1"); err != nil || len(other.Devices) != 1 {
			t.Errorf("code %d: the other: %+v, %v", code, other, err)
		}
	}
}

// TestMIGSlices: each slice has its own memory and activity, and what the driver gives of the whole GPU only is that
// of the GPU.
func TestMIGSlices(t *testing.T) {
	c := driver(t, "mig 2\ngpm\ngpus 1\nreserved 512\n")
	inventory := must.Get(open(t, c))(t)
	const parent = "GPU-00000001-0000-0000-0000-000000000000"
	uuids := []string{"MIG-00000001-0000-0000-0000-000000000001", "MIG-00000001-0000-0000-0000-000000000002"}
	if len(inventory.Devices) != 2 {
		t.Fatalf("inventory: %+v", inventory)
	}
	for i, d := range inventory.Devices {
		if d.UUID != uuids[i] || d.Parent != parent || d.MemoryBytes != 10<<30 || d.MIG == nil || !*d.MIG || !d.GPM {
			t.Errorf("slice %d: %+v", i, d)
		}
	}
	must.Get(take(t, c, Request{}))(t)
	time.Sleep(gpmSpacing + 20*time.Millisecond)
	reading, err := take(t, c, Request{Slow: true})
	if err != nil || len(reading.Devices) != 2 {
		t.Fatalf("%+v, %v", reading, err)
	}
	for i, d := range reading.Devices {
		if d.UUID != uuids[i] || has(d, metric.GPUUtil) || d.Values[metric.GPUMemUsed.Name] != float64(i+1)*(1<<30) ||
			d.Values[metric.GPUMemTotal.Name] != 10<<30 ||
			math.Abs(d.Values[metric.GPUGraphics.Name]-0.1*float64(i+1)) > 1e-9 ||
			d.Values[metric.GPUSMActivity.Name] != 0.25 || !has(d, metric.GPUPower) {
			t.Errorf("slice %d: %+v", i, d)
		}
		if !strings.Contains(d.Absent[metric.GPUOthersUtil.Name], "MIG") {
			t.Errorf("slice %d: %v", i, d.Absent)
		}
	}

	// Without a slice that can be opened, nothing is said of the whole but power and clocks.
	inventory, whole := mustTake(t, driver(t, "mig\ngpm\n"), 2)
	if d := inventory.Devices[0]; d.MIG == nil || !*d.MIG || d.GPM || d.MemoryBytes != 0 || d.Parent != "" {
		t.Errorf("inventory: %+v", d)
	}
	if d := whole.Devices[0]; has(d, metric.GPUUtil) || has(d, metric.GPUMemUsed) || has(d, metric.GPUGraphics) ||
		!has(d, metric.GPUPower) {
		t.Errorf("reading: %+v", d)
	}
	_, blind := mustTake(t, driver(t, "mig 1\ngpm\n", "nvmlGpmMigSampleGet", "nvmlDeviceGetGpuInstanceId"), 1)
	if d := blind.Devices[0]; d.Absent[metric.GPUSMActivity.Name] != "this driver has no nvmlGpmMigSampleGet" ||
		!has(d, metric.GPUMemUsed) {
		t.Errorf("a driver before 530: %+v", d)
	}
}

// TestReservedMemory: what the driver keeps for itself is not in use, whichever way it counts.
func TestReservedMemory(t *testing.T) {
	for _, config := range []string{"reserved 600\n", "reserved 600 within\n", ""} {
		_, reading := mustTake(t, driver(t, config), 1)
		if d := reading.Devices[0]; d.Values[metric.GPUMemUsed.Name] != 1<<30 {
			t.Errorf("%q: %v used", config, d.Values[metric.GPUMemUsed.Name])
		}
	}
	_, former := mustTake(t, driver(t, "reserved 600\n", "nvmlDeviceGetMemoryInfo_v2"), 1)
	if d := former.Devices[0]; d.Values[metric.GPUMemUsed.Name] != 1<<30+600<<20 {
		t.Errorf("before driver 510: %+v", d)
	}
}

// TestOneBadSample leaves the others, and the reading goes on.
func TestOneBadSample(t *testing.T) {
	_, reading := mustTake(t, driver(t, "garbage one-sample\n"), 3)
	if d := reading.Devices[0]; d.Values[metric.GPUUtil.Name] != 0.325 || len(d.Absent) != 0 {
		t.Errorf("got %v, %v", d.Values, d.Absent)
	}
}

func TestProcessUse(t *testing.T) {
	_, reading := mustTake(t, driver(t, "use 41 30\nuse 42 50\nuse 43 101\n"), 2)
	want := []ProcessUse{{PID: 41, SMRatio: 0.3}, {PID: 42, SMRatio: 0.5}}
	if diff := cmp.Diff(want, reading.Devices[0].ProcessUse); diff != "" {
		t.Error(diff)
	}
	if _, first := mustTake(t, driver(t, "use 41 30\n"), 1); first.Devices[0].ProcessUse != nil {
		t.Errorf("the first reading knows of the time before it: %v", first.Devices[0].ProcessUse)
	}
	if _, none := mustTake(t, driver(t, ""), 2); none.Devices[0].ProcessUse == nil ||
		len(none.Devices[0].ProcessUse) != 0 {
		t.Errorf("nobody used any: %v", none.Devices[0].ProcessUse)
	}
	uses, newest := latestUses([]nvml.ProcessUtilizationSample{{Pid: 1, SmUtil: 10, TimeStamp: 5},
		{Pid: 1, SmUtil: 30, TimeStamp: 6}, {Pid: 2, SmUtil: 50, TimeStamp: 2}, {SmUtil: 5, TimeStamp: 9}}, 2)
	if diff := cmp.Diff([]ProcessUse{{PID: 1, SMRatio: 0.2}}, uses); diff != "" || newest != 6 {
		t.Errorf("newest %d, %s", newest, diff)
	}
}

// TestPCIeCountersThatWrap: of 32 bits they begin at zero again in a reading.
func TestPCIeCountersThatWrap(t *testing.T) {
	c := driver(t, "counters\ncounter-bits 32\nstep 2000000\n")
	must.Get(open(t, c))(t)
	for i := range 4 {
		reading := must.Get(take(t, c, Request{}))(t)
		if d := reading.Devices[0]; (d.Values[metric.GPUPcieRx.Name] <= 0) != (i == 0) ||
			len(d.Absent) > len(ActivitySignals) {
			t.Errorf("reading %d: %v, %v", i, d.Values, d.Absent)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// FuzzInformation holds what a file of the kernel's module may say to what a GPU can be.
func FuzzInformation(f *testing.F) {
	f.Add(fmt.Sprintf(information, firstUUID, 0))
	f.Add("Device Minor: 99999999999999999999\nGPU UUID: \x1b[31m\nModel:\n")
	f.Add(strings.Repeat("Model: x\n", 9000))
	f.Fuzz(func(t *testing.T, text string) {
		d := parseInformation(strings.NewReader(text))
		if len(d.Name) > 96 || d.Minor != nil && (*d.Minor < 0 || *d.Minor >= maxDevices) || d.UUID != "" &&
			!uuidForm.MatchString(d.UUID) {
			t.Errorf("%+v", d)
		}
		if pci, ok := pciPlace(text); ok && len(pci) != 26 {
			t.Errorf("%q", pci)
		}
	})
}
