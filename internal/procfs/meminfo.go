package procfs

import "bytes"

// Meminfo is the part of /proc/meminfo that is used, in bytes.
type Meminfo struct {
	Total, Free Optional[int64]
	// Available is the kernel's estimate of what new work can have without
	// swapping (since Linux 3.14).
	Available                  Optional[int64]
	Buffers, Cached            Optional[int64]
	SwapTotal, SwapFree        Optional[int64]
	Dirty, Writeback           Optional[int64]
	SharedMemory               Optional[int64]
	AnonymousHuge, Reclaimable Optional[int64]
}

// ParseMeminfo parses /proc/meminfo. Unknown lines are passed over; at least
// MemTotal must be there.
func ParseMeminfo(b []byte, m *Meminfo) error {
	*m = Meminfo{}
	for len(b) > 0 {
		line, rest, whole := nextLine(b)
		if !whole {
			*m = Meminfo{}
			return malformed("meminfo", "cut")
		}
		b = rest
		colon := bytes.IndexByte(line, ':')
		if colon < 0 {
			continue
		}
		dst := m.field(line[:colon])
		if dst == nil {
			continue
		}
		field, unit := nextField(line[colon+1:])
		if !setKiB(dst, field, unit) {
			*m = Meminfo{}
			return malformed("meminfo", "not a count of kB")
		}
	}
	if _, ok := m.Total.Get(); !ok {
		*m = Meminfo{}
		return malformed("meminfo", "no MemTotal")
	}
	return nil
}

func (m *Meminfo) field(key []byte) *Optional[int64] {
	switch string(key) {
	case "MemTotal":
		return &m.Total
	case "MemFree":
		return &m.Free
	case "MemAvailable":
		return &m.Available
	case "Buffers":
		return &m.Buffers
	case "Cached":
		return &m.Cached
	case "SwapTotal":
		return &m.SwapTotal
	case "SwapFree":
		return &m.SwapFree
	case "Dirty":
		return &m.Dirty
	case "Writeback":
		return &m.Writeback
	case "Shmem":
		return &m.SharedMemory
	case "AnonHugePages":
		return &m.AnonymousHuge
	case "KReclaimable":
		return &m.Reclaimable
	}
	return nil
}
