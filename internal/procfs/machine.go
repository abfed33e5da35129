package procfs

import (
	"errors"
	"syscall"
)

// Machine reads the files that describe the whole machine each tick, keeping
// each open. It is not for use by several goroutines at once; Close it. A file
// that could not be opened is tried again at each read.
type Machine struct {
	fs  FS
	buf Buffer
	// disk is the value that Diskstats hands to its visitor.
	disk DiskStat

	stat, meminfo, vmstat, diskstats *hotFile
	pressure                         [pressureResources]*hotFile
}

// PressureResource names one PSI file.
type PressureResource int

// The resources of PSI.
const (
	PressureCPU PressureResource = iota
	PressureMemory
	PressureIO
	pressureResources
)

var pressureNames = [pressureResources]string{"cpu", "memory", "io"}

// String returns the file's name.
func (r PressureResource) String() string { return pressureNames[r] }

// Machine returns a reader; nothing is opened before the first read.
func (f FS) Machine() *Machine { return &Machine{fs: f} }

// Close gives the descriptors back.
func (m *Machine) Close() {
	for _, h := range append(m.pressure[:], m.stat, m.meminfo, m.vmstat, m.diskstats) {
		h.close()
	}
	*m = Machine{fs: m.fs}
}

// read reads a file; after a failure it is opened anew next time, so that a
// pressure file that is switched on while we watch is seen.
func (m *Machine) read(h **hotFile, oneShot bool, elem ...string) ([]byte, error) {
	if *h == nil {
		opened, err := openHot(m.fs.Path(elem...), oneShot)
		if err != nil {
			return nil, err
		}
		*h = opened
	}
	b, err := (*h).read(&m.buf)
	if err != nil {
		(*h).close()
		*h = nil
	}
	return b, err
}

// Stat reads /proc/stat into s, reusing its slice.
func (m *Machine) Stat(s *SystemStat) error {
	b, err := m.read(&m.stat, true, "proc", "stat")
	if err != nil {
		return err
	}
	return ParseSystemStat(b, s)
}

// Meminfo reads /proc/meminfo.
func (m *Machine) Meminfo(v *Meminfo) error {
	b, err := m.read(&m.meminfo, true, "proc", "meminfo")
	if err != nil {
		return err
	}
	return ParseMeminfo(b, v)
}

// Vmstat reads /proc/vmstat.
func (m *Machine) Vmstat(v *Vmstat) error {
	b, err := m.read(&m.vmstat, false, "proc", "vmstat")
	if err != nil {
		return err
	}
	return ParseVmstat(b, v)
}

// Diskstats reads /proc/diskstats and calls visit for each device.
func (m *Machine) Diskstats(visit func(*DiskStat)) error {
	b, err := m.read(&m.diskstats, false, "proc", "diskstats")
	if err != nil {
		return err
	}
	return parseDiskstats(b, &m.disk, visit)
}

// Pressure reads one file of /proc/pressure. ErrNoData says that the kernel has
// no PSI or has it switched off; PSISwitchedOff tells the two apart.
func (m *Machine) Pressure(r PressureResource, p *Pressure) error {
	b, err := m.read(&m.pressure[r], true, "proc", "pressure", r.String())
	if err != nil {
		return err
	}
	return ParsePressure(b, p)
}

// PSISwitchedOff reports that PSI is in the kernel but off (CONFIG_PSI_DEFAULT_DISABLED):
// the files exist and answer EOPNOTSUPP, and booting with psi=1 turns it on.
func PSISwitchedOff(err error) bool { return errors.Is(err, syscall.EOPNOTSUPP) }
