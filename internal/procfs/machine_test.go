package procfs

import (
	"errors"
	"io/fs"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/must"
)

func TestMachineOfAFixture(t *testing.T) {
	f := fixture(t, "cgroup-v2")
	m := f.Machine()
	defer m.Close()
	var s SystemStat
	for range 2 { // the second read reuses everything
		must.Do(t, m.Stat(&s))
	}
	if len(s.Cores) != 2 || s.Cores[1].Num != 7 {
		t.Errorf("stat = %+v", s)
	}
	for state, want := range map[CPUState]float64{CPUUser: 10, CPUNice: 0.1, CPUSystem: 3, CPUIdle: 90, CPUIOWait: 0.5,
		CPUIRQ: 0.05, CPUSoftIRQ: 0.25, CPUSteal: 0.7} {
		if got, ok := s.Total.Seconds(state); !ok || got != want {
			t.Errorf("state %d: %v (%v), want %v", state, got, ok, want)
		}
	}
	var mem Meminfo
	must.Do(t, m.Meminfo(&mem))
	if mem.Available.Or(0) != 32768000<<10 {
		t.Errorf("meminfo = %+v", mem)
	}
	err := ParseMeminfo([]byte("MemTotal: 4 kB\n"), &mem)
	if _, ok := mem.Available.Get(); err != nil || ok {
		t.Errorf("a line that is not there has a value: %+v, %v", mem, err)
	}
	var v Vmstat
	must.Do(t, m.Vmstat(&v))
	want := Vmstat{SwapInBytes: Some(int64(10 * 4096)), SwapOutBytes: Some(int64(20 * 4096)),
		FileRefaults: Some(int64(555))}
	if diff := cmp.Diff(want, v, optionals); diff != "" {
		t.Error(diff)
	}
	var p Pressure
	if err := m.Pressure(PressureMemory, &p); err != nil || p.SomeSeconds.Or(0) != 0.25 ||
		p.FullSeconds.Or(0) != 0.125 {
		t.Errorf("pressure = %+v, %v", p, err)
	}
	found := false
	err = m.Diskstats(func(d *DiskStat) {
		if string(d.Name) != "nvme0n1" {
			return
		}
		found = true
		if d.Reads != 1000 || d.ReadBytes != 80000*512 || d.ReadSeconds != 2.5 || d.BusySeconds != 1.8 ||
			d.QueueSeconds != 3.4 {
			t.Errorf("nvme0n1 = %+v", d)
		}
	})
	if err != nil || !found {
		t.Errorf("diskstats: found %v, %v", found, err)
	}
}

func TestColdMachineFiles(t *testing.T) {
	f := fixture(t, "cgroup-v2")
	if d, err := f.Uptime(); err != nil || d != 1000500*time.Millisecond {
		t.Errorf("uptime %v, %v", d, err)
	}
	if r, err := f.KernelRelease(); err != nil || r != "6.12.0-amd64" {
		t.Errorf("release %q, %v", r, err)
	}
	if n, err := f.PtraceScope(); err != nil || n != 1 {
		t.Errorf("ptrace_scope %d, %v", n, err)
	}
	if n, err := f.PhysicalCores(); err != nil || n != 2 {
		t.Errorf("physical cores %d, %v", n, err)
	}
	if h := f.Hypervisor(); h != "" {
		t.Errorf("a real machine whose maker is Google is said to be %q", h)
	}
	if h := fixture(t, "debian12-hybrid").Hypervisor(); h != "vm" {
		t.Errorf("a virtual machine without firmware tables is %q", h)
	}
	swaps, err := f.SwapDevices()
	want := []string{"/dev/zram0", "/dev/dm-2"}
	if diff := cmp.Diff(want, swaps); err != nil || diff != "" {
		t.Errorf("swaps: %v %s", err, diff)
	}
}

// TestNothingIsZeroForMissing reads everything from an empty root and from a torn one: each read must fail, and say
// how.
func TestNothingIsZeroForMissing(t *testing.T) {
	empty, torn := FS{Root: t.TempDir()}, fixture(t, "torn")
	reads := map[string]func(FS) error{
		"stat":         func(f FS) error { return f.Machine().Stat(new(SystemStat)) },
		"meminfo":      func(f FS) error { return f.Machine().Meminfo(new(Meminfo)) },
		"vmstat":       func(f FS) error { return f.Machine().Vmstat(new(Vmstat)) },
		"diskstats":    func(f FS) error { return f.Machine().Diskstats(func(*DiskStat) {}) },
		"pressure":     func(f FS) error { return f.Machine().Pressure(PressureCPU, new(Pressure)) },
		"uptime":       func(f FS) error { _, err := f.Uptime(); return err },
		"osrelease":    func(f FS) error { _, err := f.KernelRelease(); return err },
		"ptrace_scope": func(f FS) error { _, err := f.PtraceScope(); return err },
		"mounts":       func(f FS) error { _, err := f.Mounts(); return err },
		"cores":        func(f FS) error { _, err := f.PhysicalCores(); return err },
		"cpuinfo":      func(f FS) error { _, err := f.hypervisorFlag(); return err },
		"swaps":        func(f FS) error { _, err := f.SwapDevices(); return err },
		"process":      func(f FS) error { _, err := f.Open(7); return err },
		"cgroup":       func(f FS) error { _, err := f.Cgroup(7); return err },
		"usable":       func(f FS) error { _, err := f.UsableCPUs(7); return err },
	}
	for name, read := range reads {
		if err := read(empty); !errors.Is(err, ErrNoData) && !errors.Is(err, ErrGone) {
			t.Errorf("%s of an empty root: %v", name, err)
		}
		if err := read(torn); err == nil {
			t.Errorf("%s of a torn root was read", name)
		}
	}
}

// TestKindsOfFailure keeps apart what the kernel lacks, what is refused, and what is gone.
func TestKindsOfFailure(t *testing.T) {
	for _, c := range []struct {
		errno error
		want  error
		off   bool
	}{
		{syscall.ENOENT, ErrNoData, false},
		{syscall.EOPNOTSUPP, ErrNoData, true}, // a pressure file of a kernel that wants psi=1
		{syscall.EACCES, fs.ErrPermission, false},
		{syscall.EPERM, fs.ErrPermission, false},
		{syscall.ESRCH, ErrGone, false},
	} {
		err := classify("/proc/x", c.errno)
		if !errors.Is(err, c.want) || PSISwitchedOff(err) != c.off {
			t.Errorf("%v became %v", c.errno, err)
		}
		for _, other := range []error{ErrNoData, ErrGone, fs.ErrPermission} {
			if other != c.want && errors.Is(err, other) {
				t.Errorf("%v is also %v", err, other)
			}
		}
	}
}
