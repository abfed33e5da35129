package procfs

import (
	"errors"
	"syscall"
)

// Machine reads the files that describe the whole machine each tick, keeping
// each open. It is not for use by several goroutines at once; Close it. A file
// that could not be opened is tried again at each read.
type Machine struct {
	buf Buffer
	// disk is the value that Diskstats hands to its visitor.
	disk DiskStat

	stat, meminfo, vmstat, diskstats keptFile
	pressure                         [pressureResources]keptFile
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
func (f FS) Machine() *Machine {
	m := &Machine{stat: keptFile{path: f.Path("proc", "stat")}, meminfo: keptFile{path: f.Path("proc", "meminfo")},
		vmstat:    keptFile{path: f.Path("proc", "vmstat"), listed: true},
		diskstats: keptFile{path: f.Path("proc", "diskstats"), listed: true}}
	for i, name := range pressureNames {
		m.pressure[i].path = f.Path("proc", "pressure", name)
	}
	return m
}

// Close gives the descriptors back.
func (m *Machine) Close() {
	for _, f := range []*keptFile{&m.stat, &m.meminfo, &m.vmstat, &m.diskstats} {
		f.close()
	}
	for i := range m.pressure {
		m.pressure[i].close()
	}
}

// Stat reads /proc/stat into s, reusing its slice.
func (m *Machine) Stat(s *SystemStat) error { return into(s, ParseSystemStat)(m.stat.read(&m.buf)) }

// Meminfo reads /proc/meminfo.
func (m *Machine) Meminfo(v *Meminfo) error { return into(v, ParseMeminfo)(m.meminfo.read(&m.buf)) }

// Vmstat reads /proc/vmstat.
func (m *Machine) Vmstat(v *Vmstat) error { return into(v, ParseVmstat)(m.vmstat.read(&m.buf)) }

// Diskstats reads /proc/diskstats and calls visit for each device.
func (m *Machine) Diskstats(visit func(*DiskStat)) error {
	b, err := m.diskstats.read(&m.buf)
	if err != nil {
		return err
	}
	return parseDiskstats(b, &m.disk, visit)
}

// Pressure reads one file of /proc/pressure. ErrNoData says that the kernel has
// no PSI or has it switched off; PSISwitchedOff distinguishes the two.
func (m *Machine) Pressure(r PressureResource, p *Pressure) error {
	return into(p, ParsePressure)(m.pressure[r].read(&m.buf))
}

// PSISwitchedOff reports that PSI is in the kernel but off (CONFIG_PSI_DEFAULT_DISABLED):
// the files exist and answer EOPNOTSUPP, and booting with psi=1 turns it on.
func PSISwitchedOff(err error) bool { return errors.Is(err, syscall.EOPNOTSUPP) }
