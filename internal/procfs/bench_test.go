package procfs

import (
	"testing"

	"github.com/pipetune/pipetune/internal/must"
)

// benchReads times reads that are made again and again, and counts their garbage.
func benchReads(b *testing.B, reads map[string]func() error) {
	for name, read := range reads {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				must.Do(b, read())
			}
		})
	}
}

// processReads are the reads of a process and its first thread that are made at each look.
func processReads(t testing.TB, pid int) map[string]func() error {
	t.Helper()
	p := open(t, FS{}, pid)
	task := must.Get(p.Task(pid))(t)
	t.Cleanup(task.Close)
	var (
		stat  Stat
		sched Schedstat
		io    IO
		statm Statm
		sys   Syscall
	)
	return map[string]func() error{
		"stat":         func() error { return p.Stat(&stat) },
		"schedstat":    func() error { return p.Schedstat(&sched) },
		"io":           func() error { return p.IO(&io) },
		"statm":        func() error { return p.Statm(&statm) },
		"task-stat":    func() error { return task.Stat(&stat) },
		"task-syscall": func() error { return task.Syscall(&sys) },
		"task-wchan":   func() error { _, err := task.Wchan(); return err },
	}
}

// machineReads are those of the machine.
func machineReads(t testing.TB) map[string]func() error {
	m := FS{}.Machine()
	t.Cleanup(m.Close)
	var (
		stat SystemStat
		mem  Meminfo
		vm   Vmstat
		psi  Pressure
	)
	return map[string]func() error{
		"stat":      func() error { return m.Stat(&stat) },
		"meminfo":   func() error { return m.Meminfo(&mem) },
		"vmstat":    func() error { return m.Vmstat(&vm) },
		"diskstats": func() error { return m.Diskstats(func(*DiskStat) {}) },
		"pressure":  func() error { return m.Pressure(PressureCPU, &psi) },
	}
}

func BenchmarkProcess(b *testing.B) { benchReads(b, processReads(b, startSleep(b).Process.Pid)) }
func BenchmarkMachine(b *testing.B) { benchReads(b, machineReads(b)) }

func BenchmarkCgroup(b *testing.B) {
	g := must.Get(FS{}.Cgroup(1))(b)
	r, quotas := g.Counters(), g.Throttling()
	defer r.Close()
	defer quotas.Close()
	var (
		cpu CgroupCPU
		mem CgroupMemory
	)
	benchReads(b, map[string]func() error{"cpu": func() error { return quotas.Read(&cpu) },
		"memory": func() error { return r.Memory(&mem) }})
}

func BenchmarkTable(b *testing.B) {
	for b.Loop() {
		must.Get((FS{}).Table())(b)
	}
}
