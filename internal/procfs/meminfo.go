package procfs

// Meminfo is the part of /proc/meminfo that is used, in bytes.
type Meminfo struct {
	Total Optional[int64]
	// Available is the kernel's estimate of what new work can have without
	// swapping (since Linux 3.14).
	Available Optional[int64]
}

// ParseMeminfo parses /proc/meminfo. Unknown lines are passed over; at least
// MemTotal must be there.
func ParseMeminfo(b []byte, m *Meminfo) error {
	*m = Meminfo{}
	err := eachKeyed(b, "meminfo", func(key, value []byte) bool {
		switch string(key) {
		case "MemTotal":
			return setKiB(&m.Total, value)
		case "MemAvailable":
			return setKiB(&m.Available, value)
		}
		return true
	})
	if _, ok := m.Total.Get(); err == nil && !ok {
		err = malformed("meminfo", "no MemTotal")
	}
	return emptied(m, err)
}
