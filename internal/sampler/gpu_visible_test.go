package sampler

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/nvml"
	"github.com/pipetune/pipetune/internal/procfs"
)

// server has three GPUs of one model, which NVML lists in another order than that of the bus, and mixed has a faster
// one besides.
var (
	server = []nvml.Device{{UUID: "GPU-cccc-1", Name: "A", PCI: "0:3"}, {UUID: "GPU-aaaa-1", Name: "A", PCI: "0:1"},
		{UUID: "GPU-aabb-1", Name: "A", PCI: "0:2"}}
	mixed = append([]nvml.Device{{UUID: "GPU-dddd-1", Name: "B", PCI: "0:4"}}, server...)
)

func TestVisibleGPUs(t *testing.T) {
	yes := true
	cut := []nvml.Device{{UUID: "GPU-cccc-1", Name: "A", PCI: "0:3", MIG: &yes}}
	sliced := append([]nvml.Device{{UUID: "MIG-5c6f7a1e-1", Parent: "GPU-cccc-1", MIG: &yes}}, server...)
	unmappedSample := []nvml.Device{{UUID: "GPU-cccc-1", Name: "A"}}
	const unsure = "?"
	for _, c := range []struct {
		visible, order string
		gpus           []nvml.Device
		want           []string
	}{
		{"0", "", server, []string{"GPU-aaaa-1"}},
		{"2, 1", "", server, []string{"GPU-cccc-1", "GPU-aabb-1"}},
		{"0,-1,1", "", server, []string{"GPU-aaaa-1"}},
		{"", "", server, nil},
		{"-1", "", server, nil},
		{"NoDevFiles", "", server, nil},
		{"GPU-cccc", "", server, []string{"GPU-cccc-1"}},
		{"gpu-cccc", "", server, []string{unsure}},
		{"GPU-CCCC-1,GPU-aabb", "", mixed, []string{"GPU-cccc-1", "GPU-aabb-1"}},
		{"GPU-aa", "", server, []string{unsure}},   // of two
		{"GPU-eeee", "", server, []string{unsure}}, // not shown here
		{"GPU-", "", server, []string{unsure}},
		{"7", "", server, []string{unsure}},
		{"0,0", "", server, []string{unsure}},
		{"0", "", mixed, []string{unsure}},
		{"0", "FASTEST_FIRST", mixed, []string{unsure}},
		{"0", "PCI_BUS_ID", mixed, []string{"GPU-aaaa-1"}},
		{"MIG-GPU-cccc-1/7/0", "", cut, []string{"GPU-cccc-1"}},
		{"MIG-5c6f7a1e", "", cut, []string{unsure}},
		{"MIG-5c6f7a1e", "", sliced, []string{"MIG-5c6f7a1e-1"}},
		{"0", "PCI_BUS_ID", cut, []string{unsure}},
		{"0", "", unmappedSample, []string{unsure}},
		{"all", "", server, []string{unsure}},
	} {
		got, certain := visibleGPUs(job.GPUChoice{Read: true, Set: true, Visible: c.visible, Order: c.order,
			SameView: true}, c.gpus)
		if !certain {
			got = []string{unsure}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q in order %q of %d GPUs: %s", c.visible, c.order, len(c.gpus), diff)
		}
	}
	for _, c := range []job.GPUChoice{{}, {Read: true, SameView: true}, {Read: true, Set: true, Visible: "0"}} {
		if got, certain := visibleGPUs(c, server); certain {
			t.Errorf("%+v lets use %v", c, got)
		}
	}
	if got, certain := visibleGPUs(job.GPUChoice{Read: true, Set: true, Visible: "GPU-cccc"}, server); !certain ||
		len(got) != 1 {
		t.Error("a UUID means the same GPU in every container")
	}
}

// crew is a job whose processes may change.
type crew struct{ tree *job.Tree }

func (c *crew) Tree() *job.Tree { return c.tree }

// jobOf is a job of some processes.
func jobOf(processes ...job.Process) *crew { return &crew{&job.Tree{Processes: processes}} }

func (c *crew) are(processes ...job.Process) { c.tree = &job.Tree{Processes: processes} }

// TestGPUsBarredByTheEnvironment: what CUDA does not show any of the job's processes is not the job's, and where one
// may use all that is all.
func TestGPUsBarredByTheEnvironment(t *testing.T) {
	chosen := func(pid int, role job.Role, visible string) job.Process {
		return job.Process{ID: procfs.ID{PID: pid}, Role: role, OnGPU: role == job.Other,
			GPUs: job.GPUChoice{Read: true, Set: true, Visible: visible, SameView: true}}
	}
	launcher := job.Process{ID: procfs.ID{PID: 1}, Role: job.Launcher, GPUs: job.GPUChoice{Read: true}}
	for name, c := range map[string]struct {
		samples [][]job.Process
		want    []bool // of server's GPUs, in NVML's order
	}{
		"one trainer": {[][]job.Process{{launcher, chosen(2, job.Trainer, "1")}},
			[]bool{true, true, false}},
		"two ranks": {[][]job.Process{{chosen(2, job.Trainer, "1"), chosen(3, job.Trainer, "0")}},
			[]bool{true, false, false}},
		"one after the other": {[][]job.Process{{chosen(2, job.Trainer, "1")}, {chosen(3, job.Trainer, "0")}},
			[]bool{true, false, false}},
		"a second process on a GPU": {[][]job.Process{{chosen(2, job.Trainer, "1"), chosen(3, job.Other, "2")}},
			[]bool{false, true, false}},
		"none": {[][]job.Process{{chosen(2, job.Trainer, "")}}, []bool{true, true, true}},
		"not read": {[][]job.Process{{chosen(2, job.Trainer, "1"), {ID: procfs.ID{PID: 3}, Role: job.Trainer}}},
			[]bool{false, false, false}},
		"read later": {[][]job.Process{{{ID: procfs.ID{PID: 2}, Role: job.Trainer}}, {chosen(2, job.Trainer, "0")}},
			[]bool{true, false, true}},
		"nobody": {[][]job.Process{{launcher}}, []bool{false, false, false}},
	} {
		members := &crew{}
		g := NewGPU(procfs.FS{}, nil, members, false)
		for _, set := range c.samples {
			members.are(set...)
			g.report(gpuNews{found: &nvml.Inventory{Devices: server}})
			g.Sample(t.Context(), newBook())
		}
		var got []bool
		for _, gpu := range g.GPUs() {
			got = append(got, gpu.Barred)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
