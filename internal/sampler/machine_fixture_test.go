package sampler

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/procfs/fakeroot"
)

// fakeMachine unpacks one machine of testdata/proc and names a process of it.
func fakeMachine(t *testing.T, name string, pid int) (procfs.FS, procfs.ID) {
	fs, id, _ := changing(t, name, pid)
	return fs, id
}

// changing is such a machine whose files a test changes.
func changing(t *testing.T, name string, pid int) (procfs.FS, procfs.ID, fakeroot.Root) {
	t.Helper()
	root := fakeroot.Machine(t, name)
	fs := procfs.FS{Root: root.Dir}
	return fs, idOf(t, fs, pid), root
}

// jobSlice is a group above that of the job on the machine cgroup-v2.
const jobSlice = "sys/fs/cgroup/user.slice/job.slice/"

// sampled starts a sampler, which is closed with the test, and samples once.
func sampled(t *testing.T, s Sampler) *book {
	t.Helper()
	b := newBook()
	must.Do(t, s.Start(t.Context(), b))
	t.Cleanup(s.Close)
	s.Sample(t.Context(), b)
	return b
}

func TestCPUOfAFixture(t *testing.T) {
	fs, id := fakeMachine(t, "cgroup-v2", 4700)
	want := map[string]float64{
		"cpu_busy_s host": 13.4, "cpu_idle_s host": 90, "cpu_iowait_s host": 0.5, "cpu_steal_s host": 0.7,
		"cpu_busy_s cpu/0": 6.7, "cpu_idle_s cpu/0": 45, "cpu_iowait_s cpu/0": 0.25, "cpu_steal_s cpu/0": 0.35,
		"cpu_busy_s cpu/7": 6.7, "cpu_idle_s cpu/7": 45, "cpu_iowait_s cpu/7": 0.25, "cpu_steal_s cpu/7": 0.35,
		"cpus_present host": 2, "cpus_usable host": 2.5,
	}
	b := sampled(t, NewCPU(fs, func() []procfs.ID { return []procfs.ID{id} }))
	near := cmp.Comparer(func(x, y float64) bool { return x-y < 1e-9 && y-x < 1e-9 })
	if diff := cmp.Diff(want, b.last, near); diff != "" {
		t.Error(diff)
	}
}

// TestOldKernelHasNoSteal: a column that is not there is not a measured zero.
func TestOldKernelHasNoSteal(t *testing.T) {
	fs, id := fakeMachine(t, "bare", 7)
	b := sampled(t, NewCPU(fs, func() []procfs.ID { return []procfs.ID{id} }))
	for name := range b.last {
		if strings.HasPrefix(name, "cpu_steal") || strings.HasPrefix(name, "cpu_iowait") {
			t.Errorf("%s was recorded", name)
		}
	}
	if len(b.unseen) == 0 || b.unseen[0].signal != metric.CPUSteal.Name {
		t.Errorf("notes %v", b.unseen)
	}
}

func TestCgroupOfFixtures(t *testing.T) {
	for _, c := range []struct {
		root string
		pid  int
		data string
		want map[string]float64
	}{
		{"cgroup-v2", 4700, "/home/me/data", map[string]float64{
			"cgroup_cpu_periods cgroup/job": 1000, "cgroup_cpu_throttled_periods cgroup/job": 700,
			"cgroup_memory_limit_bytes cgroup/job": 16 << 30, "cgroup_memory_used_bytes cgroup/job": 16e9,
			"cgroup_memory_file_bytes cgroup/job": 10e9 - 1e9, "cgroup_refaults cgroup/job": 77,
			"cgroup_read_iops_limit cgroup/job": 5000, "cgroup_read_bytes_limit cgroup/job": 100 << 20}},
		{"container-v1", 7, "/data", map[string]float64{
			"cgroup_cpu_periods cgroup/job": 72, "cgroup_cpu_throttled_periods cgroup/job": 70,
			"cgroup_memory_limit_bytes cgroup/job": 2 << 30, "cgroup_memory_used_bytes cgroup/job": 1 << 20,
			"cgroup_memory_file_bytes cgroup/job": 1000 - 40, "cgroup_refaults cgroup/job": 11}},
		{"debian12-hybrid", 19868, "/home", map[string]float64{
			"cgroup_cpu_periods cgroup/job": 0, "cgroup_cpu_throttled_periods cgroup/job": 0}},
	} {
		fs, id := fakeMachine(t, c.root, c.pid)
		b := sampled(t, NewCgroup(fs, id, at(fs, id, c.data)))
		for name, want := range c.want {
			if got, ok := b.last[name]; !ok || got != want {
				t.Errorf("%s: %s = %v (%v), want %v", c.root, name, got, ok, want)
			}
		}
		for _, absent := range []string{"cgroup_memory_limit_bytes", "cgroup_read_iops_limit"} {
			if _, wanted := c.want[absent+" cgroup/job"]; wanted {
				continue
			}
			if v, ok := b.last[absent+" cgroup/job"]; ok {
				t.Errorf("%s: %s = %v where there is no limit", c.root, absent, v)
			}
		}
	}
}

// TestTmpfsDoesNotGiveWay lets a group hold most of its page cache in /dev/shm, as loaders with many batches on the way
// do.
func TestTmpfsDoesNotGiveWay(t *testing.T) {
	for _, c := range []struct {
		stat string
		want float64 // below 0: not reported
	}{
		{"anon 5000\nfile 10000\nshmem 9000\n", 1000},
		{"anon 5000\nfile 10000\nshmem 10001\n", 0}, // the two are not counted at one moment
		{"anon 5000\nfile 10000\n", -1},
	} {
		fs, id, root := changing(t, "cgroup-v2", 4700)
		root.Put(jobSlice+"memory.stat", c.stat)
		got, reported := sampled(t, NewCgroup(fs, id, nil)).last["cgroup_memory_file_bytes cgroup/job"]
		if reported != (c.want >= 0) || reported && got != c.want {
			t.Errorf("%q: %v (%v), want %v", c.stat, got, reported, c.want)
		}
	}
}

// TestChangedLimitIsSeen: a limit may be set while the job runs, and then another group's counters count from there on;
// what that group counted before is no growth.
func TestChangedLimitIsSeen(t *testing.T) {
	fs, id, root := changing(t, "cgroup-v2", 4700)
	c := NewCgroup(fs, id, nil)
	b := sampled(t, c)
	const own = jobSlice + "train.service/"
	root.Put(own+"cpu.max", "100000 100000\n")
	for range 10 {
		c.Sample(t.Context(), b)
	}
	if n := b.get(t, metric.CgroupCPUPeriods, jobGroup); n != 1000 {
		t.Errorf("%v periods, want as many as before, 1000", n)
	}
	root.Put(own+"cpu.stat", "usage_usec 1\nnr_periods 10\nnr_throttled 4\nthrottled_usec 2000000\n")
	root.Put(own+"memory.max", "1073741824\n")
	root.Put(own+"memory.stat", "anon 1\nfile 1\nshmem 0\nworkingset_refault_file 5000\n")
	for range 20 {
		c.Sample(t.Context(), b)
	}
	if n := b.get(t, metric.CgroupCPUThrottled, jobGroup); n != 704 {
		t.Errorf("%v times throttled, want 704", n)
	}
	if n := b.get(t, metric.CgroupRefaults, jobGroup); n != 77 {
		t.Errorf("%v refaults, want 77 as before: another group's are no growth", n)
	}
}

// TestThrottledFromAbove: neighbours use up the wide quota of a slice, so that the job is stopped there and never at
// its own, tighter one.
func TestThrottledFromAbove(t *testing.T) {
	fs, id, root := changing(t, "cgroup-v2", 4700)
	const slice = "sys/fs/cgroup/user.slice/"
	root.Put(slice+"cpu.max", "800000 100000\n")
	root.Put(slice+"cpu.stat", "nr_periods 5000\nnr_throttled 4000\nthrottled_usec 9000000\n")
	c := NewCgroup(fs, id, nil)
	b := sampled(t, c)
	before := b.get(t, metric.CgroupCPUThrottled, jobGroup)
	root.Put(jobSlice+"cpu.stat", "nr_periods 1010\nnr_throttled 700\nthrottled_usec 45000000\n")
	root.Put(slice+"cpu.stat", "nr_periods 5010\nnr_throttled 4009\nthrottled_usec 9500000\n")
	c.Sample(t.Context(), b)
	if n, p := b.get(t, metric.CgroupCPUThrottled, jobGroup), b.get(t, metric.CgroupCPUPeriods, jobGroup); n != before+
		9 || p != 1010 {
		t.Errorf("%v of %v periods throttled, want %v of 1010", n, p, before+9)
	}
}

// TestLimitOnAVolume: docker's --device-read-bps takes any whole device, and a limit on the volume binds what the disk
// below it reads.
func TestLimitOnAVolume(t *testing.T) {
	fs, id, root := changing(t, "cgroup-v2", 4700)
	for device, want := range map[string]float64{"253:1": 1 << 20, "253:0": 1 << 20, "9:0": 0} {
		root.Put(jobSlice+"train.service/io.max", device+" rbps=1048576 wbps=max riops=max wiops=max\n")
		b := sampled(t, NewCgroup(fs, id, at(fs, id, "/home/me/data")))
		if got, ok := b.last[metric.CgroupReadBPSMax.Name+" "+jobGroup]; got != want || ok != (want > 0) {
			t.Errorf("with a limit on %s: %v (%v), want %v", device, got, ok, want)
		}
	}
}

func TestDiskOfAFixture(t *testing.T) {
	fs, id := fakeMachine(t, "cgroup-v2", 4700)
	data := at(fs, id)
	d := NewDisk(fs, func() (int, []procfs.Storage) { return data() })
	b := sampled(t, d)
	if len(b.last) > 0 {
		t.Errorf("recorded %v before the data is known", b.names())
	}
	data = at(fs, id, "/home/me/data/train.h5", "/scratch/x")
	d.Sample(t.Context(), b)
	if v := b.get(t, metric.DiskReads, "disk/nvme0n1"); v != 1000 {
		t.Errorf("nvme0n1: %v reads", v)
	}
	if v := b.get(t, metric.DiskQueueTime, "disk/sdb"); v != 0.501 {
		t.Errorf("sdb: queue %v s", v)
	}
	for _, name := range b.names() {
		for _, other := range []string{"dm-", "nvme0n1p2", "md0", "nvme1n1"} {
			if strings.Contains(name, other) {
				t.Errorf("%s was recorded, which does not hold the data itself", name)
			}
		}
	}
	data = at(fs, id, "/nfs/x")
	d.Sample(t.Context(), b)
	if len(b.unseen) != 1 || !strings.Contains(b.unseen[0].reason, "network file system (nfs4)") {
		t.Errorf("notes %+v", b.unseen)
	}
}

// TestDiskOfNVMeMultipath: the head's figures are zeros there, which would pass for a disk that nobody reads.
func TestDiskOfNVMeMultipath(t *testing.T) {
	for data, want := range map[string]map[string]float64{
		"/data/x":  {"disk_reads disk/nvme0c0n1": 34706, "disk_reads disk/nvme0c1n1": 100},
		"/lvm/x":   {"disk_reads disk/nvme1c3n1": 7},
		"/quiet/x": {},
		"/gone/x":  {},
	} {
		fs, id := fakeMachine(t, "nvme-multipath", 4700)
		b := sampled(t, NewDisk(fs, at(fs, id, data)))
		got := map[string]float64{}
		for name, v := range b.last {
			if strings.HasPrefix(name, metric.DiskReads.Name+" ") {
				got[name] = v
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", data, diff)
		}
		if (len(b.unseen) > 0) != (len(want) == 0) {
			t.Errorf("%s: notes %+v", data, b.unseen)
		}
	}
}

func TestPressureOfFixtures(t *testing.T) {
	fs, id := fakeMachine(t, "cgroup-v2", 4700)
	want := map[string]float64{
		"pressure_cpu_some_s host": 1.5, "pressure_memory_full_s host": 0.125, "pressure_io_some_s host": 9,
		"pressure_cpu_some_s cgroup/job": 0.7, "pressure_memory_full_s cgroup/job": 10e-6,
		"pressure_io_some_s cgroup/job": 40e-6,
	}
	if diff := cmp.Diff(want, sampled(t, NewPressure(fs, id)).last); diff != "" {
		t.Error(diff)
	}
	fs, id = fakeMachine(t, "debian12-hybrid", 19868)
	b := sampled(t, NewPressure(fs, id))
	if _, ok := b.last["pressure_cpu_some_s cgroup/job"]; ok || len(b.unseen) != 1 || b.get(t, metric.PressureCPUSome,
		"host") <= 0 {
		t.Errorf("the root of all groups was taken for the job's: %v, notes %+v", b.last, b.unseen)
	}
	fs, id = fakeMachine(t, "container-v2", 7)
	b = sampled(t, NewPressure(fs, id))
	if len(b.last) > 0 || len(b.unseen) != 2 {
		t.Errorf("a kernel without PSI gave %v and notes %+v", b.last, b.unseen)
	}
}

// size is a StatfsService that always says the same.
type size isolate.FileSystem

func (s size) Statfs(_ context.Context, _, path string) (isolate.FileSystem, error) {
	if !strings.HasSuffix(path, "/proc/7/root/dev/shm") {
		return isolate.FileSystem{}, os.ErrNotExist
	}
	return isolate.FileSystem(s), nil
}

// TestShmOfAnotherContainer: the way there leads through the job's root, so a child goes; and an answer that is not
// tmpfs is not believed.
func TestShmOfAnotherContainer(t *testing.T) {
	fs, id, root := changing(t, "container-v2", 7)
	root.Link("proc/self/ns/mnt", "mnt:[4026531841]")
	root.Put("proc/meminfo", "MemTotal: 100 kB\n")
	b := sampled(t, NewMemory(fs, id, size{Type: unix.TMPFS_MAGIC, TotalBytes: 64 << 20, FreeBytes: 1 << 20}))
	if total, used := b.get(t, metric.ShmSize, "host"), b.get(t, metric.ShmUsed, "host"); total != 64<<20 ||
		used != 63<<20 {
		t.Errorf("%v of %v used", used, total)
	}
	for _, s := range []StatfsService{size{Type: 0x6969, TotalBytes: 64 << 20}, size{Type: unix.TMPFS_MAGIC,
		TotalBytes: 1, FreeBytes: 2}, nil} {
		b := sampled(t, NewMemory(fs, id, s))
		if v, ok := b.last["shm_size_bytes host"]; ok {
			t.Errorf("%+v gave a size of %v", s, v)
		}
		if !slices.ContainsFunc(b.unseen, func(n note) bool { return n.signal == "shm_*" }) {
			t.Errorf("%+v: notes %+v", s, b.unseen)
		}
	}
}

// TestEndedJobIsNotAnothers: once the job's number belongs to another process, nothing of that one is recorded.
func TestEndedJobIsNotAnothers(t *testing.T) {
	fs, id := fakeMachine(t, "cgroup-v2", 4700)
	id.Start--
	b := newBook()
	if err := NewCgroup(fs, id, nil).Start(t.Context(), b); err == nil {
		t.Error("the other process' group was taken")
	}
	b = sampled(t, NewCPU(fs, func() []procfs.ID { return []procfs.ID{id} }))
	if v, ok := b.last["cpus_usable host"]; ok {
		t.Errorf("the other process' %v cores were recorded", v)
	}
}
