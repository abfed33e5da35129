package procfs

import (
	"os"
	"path/filepath"
	"regexp"
)

// Uncounted says why /proc/diskstats says nothing of what a device does, and what would change that; zero where it
// does tell.
type Uncounted struct{ Reason, Cure string }

// count fills in where diskstats counts the device. The head of an NVMe namespace with several controllers passes each
// request on to one of its paths. The paths always count; the head does since Linux 6.2 alone (commit d4d957b53d91,
// "nvme-multipath: support io stats on the mpath device") and shows zeros before. So the paths are taken, on every
// kernel.
func (f FS) count(d *BlockDevice, dir string) {
	names, dirs := []string{d.Name}, []string{dir}
	if filepath.Base(filepath.Dir(filepath.Dir(dir))) == "nvme-subsystem" {
		if names, dirs = f.nvmePaths(d.Name); len(names) == 0 {
			d.Uncounted = Uncounted{Reason: "it is the head of NVMe multipath, which kernels before 6.2 do not " +
				"count, and its paths are not in /sys/block"}
			return
		}
	}
	for i, dir := range dirs {
		if countingOff(dir, d.Kind) {
			d.Uncounted = Uncounted{"its I/O accounting is switched off", "echo 1 | sudo tee /sys/block/" + names[i] +
				"/queue/iostats"}
			return
		}
	}
	d.Counters = names
}

// countingOff reports whether queue/iostats is 0, which ends a device's counting where the block layer counts requests
// (Documentation/ABI/stable/sysfs-block). Drivers that take bios call for the counting themselves, whatever is there.
func countingOff(dir string, kind BlockKind) bool {
	if kind == BlockLoop || kind == BlockOther {
		return false
	}
	s, ok := attr(dir, "queue/iostats")
	return ok && s == "0"
}

// nvmePaths returns the path devices of a head in order of their names: nvme0c1n2 is the path of nvme0n2 through
// controller 1 (drivers/nvme/host/multipath.c), and their folders.
func (f FS) nvmePaths(head string) (names, dirs []string) {
	entries, _ := os.ReadDir(f.Path("sys", "block")) // none where it cannot be read
	for _, e := range entries {
		if headOfPath(e.Name()) == head {
			names, dirs = append(names, e.Name()), append(dirs, f.Path("sys", "block", e.Name()))
		}
	}
	return names, dirs
}

var pathDevice = regexp.MustCompile(`^(nvme\d+)c\d+(n\d+)$`)

// headOfPath is the head's name of a path device; "" where the name is not that of one.
func headOfPath(name string) string {
	if m := pathDevice.FindStringSubmatch(name); m != nil {
		return m[1] + m[2]
	}
	return ""
}
