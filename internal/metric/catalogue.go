package metric

import "slices"

// family is a list of signals, in the order of their declarations: each is declared by its family.
type family []Desc

// gauge declares a signal that is a value at an instant.
func (f *family) gauge(name string, u Unit, help string) Desc {
	return f.add(Desc{name, u, Gauge, help})
}

// counter declares a signal that is cumulative.
func (f *family) counter(name string, u Unit, help string) Desc {
	return f.add(Desc{name, u, Counter, help})
}

func (f *family) add(d Desc) Desc {
	*f = append(*f, d)
	return d
}

// The signals of the samplers and of the hook, as a recording holds them.
var CPU, Cgroup, Memory, Disk, Pressure, GPU, Process, Threads, Remote, Host, Loader, Files, Hook family

// What package evidence computes of a watch, HookDerived where the hook reports it; what probes of bench-io measure,
// and what is computed of that; and what only a live view has.
var Derived, HookDerived, Bench, BenchDerived, Live family

// Raw lists every signal a recording may hold.
func Raw() []Desc {
	return slices.Concat(CPU, Cgroup, Memory, Disk, Pressure, GPU, Process, Threads, Remote, Host, Loader, Files, Hook)
}

// All lists every signal, raw and derived.
func All() []Desc { return slices.Concat(Raw(), Derived, HookDerived, Bench, BenchDerived, Live) }

// InReport returns the signals that stand under "metrics" of a report, where they were measured.
func InReport() []Desc { return slices.Concat(Derived, HookDerived, BenchDerived) }
