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

func BenchmarkProcess(b *testing.B) {
	cmd := startSleep(b)
	p := must.Get(FS{}.Open(cmd.Process.Pid))(b)
	defer p.Close()
	task := must.Get(p.Task(cmd.Process.Pid))(b)
	defer task.Close()
	var (
		stat  Stat
		sched Schedstat
		io    IO
		statm Statm
		sys   Syscall
	)
	benchReads(b, map[string]func() error{
		"stat":         func() error { return p.Stat(&stat) },
		"schedstat":    func() error { return p.Schedstat(&sched) },
		"io":           func() error { return p.IO(&io) },
		"statm":        func() error { return p.Statm(&statm) },
		"task-stat":    func() error { return task.Stat(&stat) },
		"task-syscall": func() error { return task.Syscall(&sys) },
		"task-wchan":   func() error { _, err := task.Wchan(); return err },
	})
}

func BenchmarkMachine(b *testing.B) {
	m := FS{}.Machine()
	defer m.Close()
	var (
		stat SystemStat
		mem  Meminfo
		vm   Vmstat
		psi  Pressure
	)
	benchReads(b, map[string]func() error{
		"stat":      func() error { return m.Stat(&stat) },
		"meminfo":   func() error { return m.Meminfo(&mem) },
		"vmstat":    func() error { return m.Vmstat(&vm) },
		"diskstats": func() error { return m.Diskstats(func(*DiskStat) {}) },
		"pressure":  func() error { return m.Pressure(PressureCPU, &psi) },
	})
}

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
