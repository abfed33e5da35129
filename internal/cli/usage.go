package cli

import (
	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/procfs"
	"golang.org/x/sys/unix"
)

// usage adds up what this process, the children it has collected and those still living have used. Memory is this
// process' peak and what living children hold beyond the pages of the program they share with it.
func usage(r *isolate.Runner) spent {
	var s spent
	var self, reaped unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &self); err == nil {
		s.cpu += cpuSeconds(self)
		s.peak += self.Maxrss * 1024
	}
	if err := unix.Getrusage(unix.RUSAGE_CHILDREN, &reaped); err == nil {
		s.cpu += cpuSeconds(reaped)
	}
	for _, pid := range r.Children() {
		s.add(pid)
	}
	return s
}

// add counts a living child. One that ends meanwhile is counted when it is collected.
func (s *spent) add(pid int) {
	p, err := procfs.FS{}.Open(pid)
	if err != nil {
		return
	}
	defer p.Close()
	var st procfs.Stat
	if p.Stat(&st) == nil {
		s.cpu += st.UserSeconds + st.SystemSeconds
	}
	var m procfs.Statm
	if p.Statm(&m) == nil {
		s.peak += m.ResidentBytes - m.SharedBytes
	}
}

func cpuSeconds(u unix.Rusage) float64 {
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}
