package procfs

import "os"

// Vmstat is the part of /proc/vmstat that is used: event counts since boot.
type Vmstat struct {
	// SwapInBytes and SwapOutBytes are pages swapped, as bytes.
	SwapInBytes, SwapOutBytes Optional[int64]
	MajorFaults               Optional[int64]
	// FileRefaults counts file pages that were read again soon after they had
	// been evicted: the page cache is too small for what is read in turns
	// (workingset_refault_file, since Linux 5.9; before, workingset_refault).
	FileRefaults Optional[int64]
	OOMKills     Optional[int64]
}

// ParseVmstat parses /proc/vmstat. Unknown lines are passed over.
func ParseVmstat(b []byte, v *Vmstat) error {
	*v = Vmstat{}
	if len(b) == 0 {
		return malformed("vmstat", "empty")
	}
	page := int64(os.Getpagesize())
	for len(b) > 0 {
		line, rest, whole := nextLine(b)
		if !whole {
			*v = Vmstat{}
			return malformed("vmstat", "cut")
		}
		b = rest
		key, value := nextField(line)
		ok := true
		switch string(key) {
		case "pswpin":
			ok = setPages(&v.SwapInBytes, value, page)
		case "pswpout":
			ok = setPages(&v.SwapOutBytes, value, page)
		case "workingset_refault_file", "workingset_refault":
			ok = setCount(&v.FileRefaults, value)
		case "pgmajfault":
			ok = setCount(&v.MajorFaults, value)
		case "oom_kill":
			ok = setCount(&v.OOMKills, value)
		}
		if !ok {
			*v = Vmstat{}
			return malformed("vmstat", "not a count")
		}
	}
	return nil
}

func setPages(dst *Optional[int64], value []byte, page int64) bool {
	field, _ := nextField(value)
	n, ok := parseCount(field)
	if !ok || n > (1<<62)/page {
		return false
	}
	*dst = Some(n * page)
	return true
}
