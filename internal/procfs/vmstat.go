package procfs

import "os"

// Vmstat is the part of /proc/vmstat that is used: event counts since boot.
type Vmstat struct {
	// SwapInBytes and SwapOutBytes are pages swapped, as bytes.
	SwapInBytes, SwapOutBytes Optional[int64]
	// FileRefaults counts file pages that were read again soon after they had
	// been evicted: the page cache is too small for what is read in turns
	// (workingset_refault_file, since Linux 5.9; before, workingset_refault).
	FileRefaults Optional[int64]
}

// ParseVmstat parses /proc/vmstat. Unknown lines are passed over.
func ParseVmstat(b []byte, v *Vmstat) error {
	*v = Vmstat{}
	page := int64(os.Getpagesize())
	return emptied(v, eachKeyed(b, "vmstat", func(key, value []byte) bool {
		switch string(key) {
		case "pswpin":
			return setCount(&v.SwapInBytes, value, page)
		case "pswpout":
			return setCount(&v.SwapOutBytes, value, page)
		case "workingset_refault_file", "workingset_refault":
			return setCount(&v.FileRefaults, value, 1)
		}
		return true
	}))
}
