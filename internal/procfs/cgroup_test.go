package procfs

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/procfs/fakeroot"
)

// optionals lets cmp look into Optional.
var optionals = cmp.Options{
	cmp.AllowUnexported(Optional[int]{}, Optional[int64]{}, Optional[float64]{}, Optional[string]{}, Optional[bool]{},
		Optional[CPUSet]{}, Optional[uint64]{}),
	cmpopts.EquateEmpty(),
}

func TestUsableCPUs(t *testing.T) {
	for _, c := range []struct {
		root string
		pid  int
		want UsableCPUs
	}{
		{"cgroup-v2", 4700, UsableCPUs{CPUs: 2.5, Affinity: Some(8), CPUSet: Some(4), Quota: Some(2.5)}},
		{"container-v2", 7, UsableCPUs{CPUs: 4, Affinity: Some(64), CPUSet: Some(16), Quota: Some(4.0)}},
		{"container-v1", 7, UsableCPUs{CPUs: 0.5, Affinity: Some(4), CPUSet: Some(8), Quota: Some(0.5)}},
		{"debian12-hybrid", 19868, UsableCPUs{CPUs: 2, Affinity: Some(2), CPUSet: Some(2)}},
	} {
		got := must.Get(fixture(t, c.root).UsableCPUs(c.pid))(t)
		if diff := cmp.Diff(c.want, got, optionals); diff != "" {
			t.Errorf("%s: %s", c.root, diff)
		}
	}
	u := must.Get(fixture(t, "bare").UsableCPUs(7))(t)
	if u.CPUs != 2 || u.Affinity.Or(0) != 2 || len(u.Warnings) != 1 {
		t.Errorf("without cgroups: %+v, want the affinity and a warning", u)
	}
	if _, err := fixture(t, "torn").UsableCPUs(7); !errors.Is(err, ErrMalformed) {
		t.Errorf("a torn root gave %v", err)
	}
}

// TestCPUsThatMayComeLater: a virtual machine allows its processes on CPUs that were never plugged in.
func TestCPUsThatMayComeLater(t *testing.T) {
	root := fakeroot.Machine(t, "bare")
	root.Put("proc/7/status", "Name:\tpython3\nCpus_allowed_list:\t0-127\n")
	root.Put("sys/devices/system/cpu/online", "0-3,8\n")
	if u, err := (FS{Root: root.Dir}).UsableCPUs(7); err != nil || u.CPUs != 5 || u.Affinity.Or(0) != 5 {
		t.Errorf("%+v, %v; want the 5 that are online", u, err)
	}
}

// TestTrainersWithCoresOfTheirOwn: ranks that are bound to cores each leave the job all of them.
func TestTrainersWithCoresOfTheirOwn(t *testing.T) {
	root := fakeroot.Machine(t, "bare")
	root.Put("proc/7/status", "Name:\tpython3\nCpus_allowed_list:\t0-3\n")
	root.Put("proc/8/stat", string(must.Get(os.ReadFile(filepath.Join(root.Dir, "proc/7/stat")))(t)))
	root.Put("proc/8/status", "Name:\tpython3\nCpus_allowed_list:\t2-7\n")
	root.Put("sys/devices/system/cpu/online", "0-15\n")
	for others, want := range map[int]float64{7: 4, 8: 8, 9: 4} { // 9 has ended
		if u, err := (FS{Root: root.Dir}).UsableCPUs(7, others); err != nil || u.CPUs != want {
			t.Errorf("beside %d: %+v, %v; want %g", others, u, err, want)
		}
	}
}

func TestCgroupModes(t *testing.T) {
	for root, want := range map[string]CgroupMode{"cgroup-v2": CgroupV2, "container-v2": CgroupV2,
		"container-v1": CgroupV1, "debian12-hybrid": CgroupHybrid, "bare": CgroupNone} {
		mounts := must.Get(fixture(t, root).Mounts())(t)
		if got := cgroupMode(mounts); got != want {
			t.Errorf("%s is %s, want %s", root, got, want)
		}
	}
}

func TestTightestMemoryLimit(t *testing.T) {
	for _, c := range []struct {
		root        string
		pid         int
		limit, room int64 // 0: no limit
		dir         string
	}{
		{"cgroup-v2", 4700, 16 << 30, 16<<30 - (16e9 - (10e9 - 1e9)), "sys/fs/cgroup/user.slice/job.slice"},
		{"container-v2", 7, 8 << 30, 8<<30 - (1<<30 - (2000 - 300)), "sys/fs/cgroup"},
		{"container-v1", 7, 2 << 30, 2<<30 - (1<<20 - (1000 - 40)), "sys/fs/cgroup/memory"},
		{"debian12-hybrid", 19868, 0, 0, ""},
	} {
		f := fixture(t, c.root)
		g := must.Get(f.Cgroup(c.pid))(t)
		got, ok := must.Get(g.MemoryLimit())(t).Get()
		if ok != (c.limit > 0) || got.Bytes != c.limit || (ok && got.Dir != filepath.Join(f.Root, c.dir)) {
			t.Errorf("%s: %+v (%v), want %d in %s", c.root, got, ok, c.limit, c.dir)
		}
		room, ok := must.Get(g.MemoryRoom())(t).Get()
		if ok != (c.limit > 0) || room.Bytes != c.room {
			t.Errorf("%s leaves %+v (%v), want %d", c.root, room, ok, c.room)
		}
	}
}

// TestEqualMemoryLimits gives a group the limit of the one above, as a container of a pod has it: what its neighbours
// use is gone too.
func TestEqualMemoryLimits(t *testing.T) {
	root := fakeroot.Machine(t, "cgroup-v2")
	root.Put("sys/fs/cgroup/user.slice/job.slice/train.service/memory.max", "17179869184\n")
	f := FS{Root: root.Dir}
	g := must.Get(f.Cgroup(4700))(t)
	limit := must.Get(g.MemoryLimit())(t)
	if got, _ := limit.Get(); got.Bytes != 16<<30 || got.Dir != filepath.Join(f.Root,
		"sys/fs/cgroup/user.slice/job.slice") {
		t.Errorf("%+v, want the limit of job.slice", got)
	}
	r := g.Counters()
	defer r.Close()
	var m CgroupMemory
	if err := r.Memory(&m); err != nil || m.UseBytes != 16e9 {
		t.Errorf("%d bytes in use (%v), want those of job.slice", m.UseBytes, err)
	}
}

// counts holds the CPU and memory counters of a group to what they must be.
func counts(t *testing.T, g Cgroup, r *CgroupCounters, cpu CgroupCPU, memory CgroupMemory) {
	t.Helper()
	var c CgroupCPU
	var m CgroupMemory
	quotas := g.Throttling()
	defer quotas.Close()
	must.Do(t, errors.Join(quotas.Read(&c), r.Memory(&m)))
	if diff := cmp.Diff(cpu, c, optionals) + cmp.Diff(memory, m, optionals); diff != "" {
		t.Error(diff)
	}
}

func TestCountersAreOfTheGroupThatBinds(t *testing.T) {
	g := must.Get(fixture(t, "cgroup-v2").Cgroup(4700))(t)
	r := g.Counters()
	defer r.Close()
	counts(t, g, r,
		CgroupCPU{Periods: Some(int64(1000)), Throttled: Some(int64(700))},
		CgroupMemory{UseBytes: 16e9, FileBytes: Some(int64(10e9)), SharedMemoryBytes: Some(int64(1e9)),
			FileRefaults: Some(int64(77))})
	var p Pressure
	if err := r.Pressure(PressureCPU, &p); err != nil || p.SomeSeconds.Or(0) != 0.7 || p.FullSeconds.Or(0) != 0.3 {
		t.Errorf("cpu pressure %+v, %v", p, err)
	}
}

func TestVersion1CountersAreTotals(t *testing.T) {
	g := must.Get(fixture(t, "container-v1").Cgroup(7))(t)
	r := g.Counters()
	defer r.Close()
	counts(t, g, r,
		CgroupCPU{Periods: Some(int64(72)), Throttled: Some(int64(70))},
		CgroupMemory{UseBytes: 1 << 20, FileBytes: Some(int64(1000)), SharedMemoryBytes: Some(int64(40)),
			FileRefaults: Some(int64(11))})
	if err := r.Pressure(PressureCPU, &Pressure{}); !errors.Is(err, ErrNoData) {
		t.Errorf("version 1 has no pressure, got %v", err)
	}
}

func TestReadLimits(t *testing.T) {
	for _, c := range []struct {
		root string
		pid  int
		dev  Device
		want ReadLimits
	}{
		{"cgroup-v2", 4700, Device{259, 0}, ReadLimits{Bytes: Some(int64(100 << 20)), Reads: Some(int64(5000))}},
		{"cgroup-v2", 4700, Device{259, 1}, ReadLimits{}},
		{"container-v1", 7, Device{254, 0}, ReadLimits{Bytes: Some(int64(1 << 20)), Reads: Some(int64(100))}},
		{"debian12-hybrid", 19868, Device{254, 0}, ReadLimits{}},
	} {
		g := must.Get(fixture(t, c.root).Cgroup(c.pid))(t)
		got := must.Get(g.ReadLimits(func(d Device) bool { return d == c.dev }))(t)
		if diff := cmp.Diff(c.want, got, optionals); diff != "" {
			t.Errorf("%s: %s", c.root, diff)
		}
	}
}

// TestGroupOutsideOfTheNamespace covers a job that runs in a group above what is visible here: nothing may be guessed.
func TestGroupOutsideOfTheNamespace(t *testing.T) {
	f := fixture(t, "cgroup-v2")
	mounts := must.Get(f.Mounts())(t)
	entries := must.Get(ParseCgroupEntries([]byte("0::/../../other.slice\n")))(t)
	if _, err := f.cgroupFrom(entries, mounts); !errors.Is(err, ErrNoData) {
		t.Errorf("got %v, want no data", err)
	}
}
