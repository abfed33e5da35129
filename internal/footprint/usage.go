package footprint

import (
	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/procfs"
)

// Usage is what pipetune and its children have used so far.
type Usage struct {
	CPU  float64 // seconds
	Peak int64   // bytes, peaks added
}

// Used adds up what this process, the children it has collected and those still living have used. Memory is this
// process' peak and what living children hold beyond the pages of the program they share with it.
func Used(r *isolate.Runner) Usage {
	var s Usage
	var self, reaped unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &self); err == nil {
		s.CPU += cpuSeconds(self)
		s.Peak += self.Maxrss * 1024
	}
	if err := unix.Getrusage(unix.RUSAGE_CHILDREN, &reaped); err == nil {
		s.CPU += cpuSeconds(reaped)
	}
	for _, pid := range r.Children() {
		s.add(pid)
	}
	return s
}

// add counts a living child. One that ends meanwhile is counted when it is collected.
func (s *Usage) add(pid int) {
	p, err := procfs.FS{}.Open(pid)
	if err != nil {
		return
	}
	defer p.Close()
	var st procfs.Stat
	if p.Stat(&st) == nil {
		s.CPU += st.UserSeconds + st.SystemSeconds
	}
	var m procfs.Statm
	if p.Statm(&m) == nil {
		s.Peak += m.ResidentBytes - m.SharedBytes
	}
}

func cpuSeconds(u unix.Rusage) float64 {
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}
