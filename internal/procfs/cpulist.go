package procfs

import (
	"bytes"
	"slices"
	"strconv"
)

// CPUSet is a set of CPU numbers, sorted and without repetition. The nil set
// is empty, which no living thread's affinity is.
type CPUSet []int

// maxCPUs bounds a CPU number; the largest NR_CPUS of Linux is 8192, and 65536
// keeps a damaged list from asking for memory.
const maxCPUs = 1 << 16

// ParseCPUList parses "0-3,8,10-11" (cpuset(7), list format). An empty list is
// an empty set, as a cpuset without CPUs has.
func ParseCPUList(b []byte) (CPUSet, error) {
	b = bytes.TrimSpace(b)
	if len(b) == 0 {
		return nil, nil
	}
	var set CPUSet
	for part := range bytes.SplitSeq(b, []byte{','}) {
		lo, hi, isRange := bytes.Cut(part, []byte{'-'})
		first, ok := parseCount(lo)
		last := first
		if isRange && ok {
			last, ok = parseCount(hi)
		}
		// The kernel never repeats a CPU, so a long list is damage too.
		if !ok || first > last || last >= maxCPUs || len(set) > maxCPUs {
			return nil, malformed("CPU list", strconv.Quote(string(part)))
		}
		for c := first; c <= last; c++ {
			set = append(set, int(c))
		}
	}
	slices.Sort(set)
	return slices.Compact(set), nil
}

// And returns the CPUs that are in both sets.
func (s CPUSet) And(other CPUSet) CPUSet {
	var both CPUSet
	for _, c := range s {
		if _, found := slices.BinarySearch(other, c); found {
			both = append(both, c)
		}
	}
	return both
}

// Or returns the CPUs in either.
func (s CPUSet) Or(other CPUSet) CPUSet {
	all := slices.Concat(s, other)
	slices.Sort(all)
	return slices.Compact(all)
}

// OnlineCPUs returns the CPUs that can run something now. A process that nobody
// restricted is allowed on all CPUs the machine could ever have, hot-plugged
// ones of a virtual machine included, so an affinity means something only
// together with this set.
func (f FS) OnlineCPUs() (CPUSet, error) {
	b, err := f.readFile("sys", "devices", "system", "cpu", "online")
	if err != nil {
		return nil, err
	}
	set, err := ParseCPUList(b)
	if err == nil && len(set) == 0 {
		err = malformed("cpu/online", "no CPU is online")
	}
	return set, err
}
