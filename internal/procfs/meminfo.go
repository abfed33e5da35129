package procfs

import "bytes"

// Meminfo is the part of /proc/meminfo that is used, in bytes.
type Meminfo struct {
	Total Optional[int64]
	// Available is the kernel's estimate of what new work can have without
	// swapping (since Linux 3.14).
	Available            Optional[int64]
	Cached, SharedMemory Optional[int64]
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
	case "MemAvailable":
		return &m.Available
	case "Cached":
		return &m.Cached
	case "Shmem":
		return &m.SharedMemory
	}
	return nil
}
