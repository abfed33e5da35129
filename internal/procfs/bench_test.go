package procfs

import (
	"testing"

	"github.com/pipetune/pipetune/internal/must"
)

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
	for _, bc := range []struct {
		name string
		read func() error
	}{
		{"stat", func() error { return p.Stat(&stat) }},
		{"schedstat", func() error { return p.Schedstat(&sched) }},
		{"io", func() error { return p.IO(&io) }},
		{"statm", func() error { return p.Statm(&statm) }},
		{"task-stat", func() error { return task.Stat(&stat) }},
		{"task-syscall", func() error { return task.Syscall(&sys) }},
		{"task-wchan", func() error { _, err := task.Wchan(); return err }},
	} {
		b.Run(bc.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				must.Do(b, bc.read())
			}
		})
	}
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
	for _, bc := range []struct {
		name string
		read func() error
	}{
		{"stat", func() error { return m.Stat(&stat) }},
		{"meminfo", func() error { return m.Meminfo(&mem) }},
		{"vmstat", func() error { return m.Vmstat(&vm) }},
		{"diskstats", func() error { return m.Diskstats(func(*DiskStat) {}) }},
		{"pressure", func() error { return m.Pressure(PressureCPU, &psi) }},
	} {
		b.Run(bc.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				must.Do(b, bc.read())
			}
		})
	}
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
	b.Run("cpu", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			must.Do(b, quotas.Read(&cpu))
		}
	})
	b.Run("memory", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			must.Do(b, r.Memory(&mem))
		}
	})
}

func BenchmarkTable(b *testing.B) {
	for b.Loop() {
		must.Get((FS{}).Table())(b)
	}
}
