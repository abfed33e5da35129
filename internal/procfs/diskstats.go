package procfs

// DiskStat is one block device's line of /proc/diskstats: totals since boot
// (Documentation/admin-guide/iostats.rst). A sector is 512 bytes whatever the
// device's own sector size.
type DiskStat struct {
	Device Device
	// Name is the device's name in the bytes parsed; it is valid as long as they
	// are.
	Name         []byte
	Reads        int64
	ReadBytes    int64
	ReadSeconds  float64
	Writes       int64
	WriteBytes   int64
	WriteSeconds float64
	// InFlight is the number of requests under way at this instant.
	InFlight int64
	// BusySeconds is the time with at least one request under way. On a device
	// that serves many at once, 100 % of it says "never empty", not "saturated".
	BusySeconds float64
	// QueueSeconds is the time of all requests together, the one under way
	// included: its growth per second is the mean queue depth.
	QueueSeconds float64
}

// Device is a device number.
type Device struct{ Major, Minor uint32 }

const sectorBytes = 512

// ParseDiskstats calls visit for each device, with a value that is reused. A
// visit that returns false ends the walk. Lines of fewer than 14 columns are
// malformed; the later ones (discard, flush) are not needed.
func ParseDiskstats(b []byte, visit func(*DiskStat) bool) error {
	return parseDiskstats(b, new(DiskStat), visit)
}

// parseDiskstats uses the caller's value, so that the hot reader makes none.
func parseDiskstats(b []byte, d *DiskStat, visit func(*DiskStat) bool) error {
	for len(b) > 0 {
		line, rest, whole := nextLine(b)
		if !whole {
			return malformed("diskstats", "cut")
		}
		b = rest
		if !parseDisk(line, d) {
			return malformed("diskstats", "not 14 columns of counts")
		}
		if !visit(d) {
			return nil
		}
	}
	return nil
}

func parseDisk(line []byte, d *DiskStat) bool {
	major, line := nextField(line)
	minor, line := nextField(line)
	name, line := nextField(line)
	ma, ok1 := parseCount(major)
	mi, ok2 := parseCount(minor)
	if !ok1 || !ok2 || ma > 1<<32-1 || mi > 1<<32-1 || len(name) == 0 {
		return false
	}
	var v [11]int64
	for i := range v {
		var field []byte
		field, line = nextField(line)
		n, ok := parseCount(field)
		if !ok {
			return false
		}
		v[i] = n
	}
	if v[2] > (1<<62)/sectorBytes || v[6] > (1<<62)/sectorBytes {
		return false
	}
	*d = DiskStat{
		Device: Device{uint32(ma), uint32(mi)}, Name: name,
		Reads: v[0], ReadBytes: v[2] * sectorBytes, ReadSeconds: milliseconds(v[3]),
		Writes: v[4], WriteBytes: v[6] * sectorBytes, WriteSeconds: milliseconds(v[7]),
		InFlight: v[8], BusySeconds: milliseconds(v[9]), QueueSeconds: milliseconds(v[10]),
	}
	return true
}

func milliseconds(n int64) float64 { return float64(n) / 1000 }
