package procfs

import "math"

// DiskStat is one block device's line of /proc/diskstats: totals since boot
// (Documentation/admin-guide/iostats.rst). A sector is 512 bytes whatever the
// device's own sector size.
type DiskStat struct {
	// Name is the device's name in the bytes parsed; it is valid as long as they
	// are.
	Name        []byte
	Reads       int64
	ReadBytes   int64
	ReadSeconds float64
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

// parseDiskstats calls visit for each device, with the caller's value d. Lines of fewer than 14 columns are malformed;
// the later ones (discard, flush) are not needed.
func parseDiskstats(b []byte, d *DiskStat, visit func(*DiskStat)) error {
	return eachLine(b, "diskstats", func(line []byte) bool {
		_, line = nextField(line) // major
		_, line = nextField(line) // minor
		var v [11]int64
		d.Name, line = nextField(line)
		if !parseCounts(line, v[:]) || v[2] > math.MaxInt64/sectorBytes {
			return false
		}
		d.Reads, d.ReadBytes, d.ReadSeconds = v[0], v[2]*sectorBytes, milliseconds(v[3])
		d.BusySeconds, d.QueueSeconds = milliseconds(v[9]), milliseconds(v[10])
		visit(d)
		return true
	})
}

func milliseconds(n int64) float64 { return float64(n) / 1000 }
