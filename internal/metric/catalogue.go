package metric

import "slices"

// Raw lists every signal a recording may hold.
func Raw() []Desc {
	return slices.Concat(CPU, Cgroup, Memory, Disk, Pressure, GPU, Process, Threads, Remote, Host, Loader, Files, Hook)
}

// All lists every signal, raw and derived.
func All() []Desc { return slices.Concat(Raw(), Derived, HookDerived, Bench, BenchDerived, Live) }
