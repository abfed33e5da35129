package procfs

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// BlockDevice is a whole block device and what the kernel says of it.
type BlockDevice struct {
	// Name is the kernel's name, as in /proc/diskstats.
	Name   string
	Device Device
	Kind   BlockKind
	// Model is the vendor's name, unclean; absent for virtual devices.
	Model Optional[string]
	// Rotational is the kernel's flag. Virtio and network block devices set it
	// by default (drivers/block/virtio_blk.c), so it proves nothing there: see
	// Turning.
	Rotational Optional[bool]
	// Counters are the names under which /proc/diskstats counts what the device does, each a part of it: its own name,
	// or those of the paths of NVMe multipath. Empty where nothing counts it.
	Counters  []string
	Uncounted Uncounted
	// Above are the whole devices on the way from the file system down to this one, the uppermost first; empty where
	// nothing is stacked on it. What is read from this one has passed their limits.
	Above []Device
}

// BlockKind says what drives a device.
type BlockKind string

// The kinds that differ in something, from the device's name, which the driver gives it.
const (
	BlockSCSI  BlockKind = "scsi" // SATA, SAS, USB and most cloud disks
	BlockDisk  BlockKind = "disk" // others whose requests the block layer counts: NVMe, virtio, Xen, MMC
	BlockLoop  BlockKind = "loop"
	BlockOther BlockKind = "other"
)

var blockPrefixes = []struct {
	prefix string
	kind   BlockKind
}{
	{"nvme", BlockDisk}, {"vd", BlockDisk}, {"sd", BlockSCSI}, {"sr", BlockSCSI}, {"xvd", BlockDisk},
	{"mmcblk", BlockDisk}, {"loop", BlockLoop},
}

func blockKind(name string) BlockKind {
	for _, p := range blockPrefixes {
		if strings.HasPrefix(name, p.prefix) {
			return p.kind
		}
	}
	return BlockOther
}

// Turning reports whether this is a disk that turns; absent where the kernel's
// flag proves nothing. A cleared flag was cleared by a driver that knows. A set
// one is the default of virtio and network drivers and of SCSI disks that do
// not say, which is what most hypervisors emulate.
func (d BlockDevice) Turning(virtual bool) Optional[bool] {
	if d.Rotational.Or(false) && (virtual || d.Kind != BlockSCSI) {
		return Optional[bool]{}
	}
	return d.Rotational
}

// maxBlockDepth bounds the walk from a mapped device down to physical ones:
// LVM on LUKS on RAID on partitions is four.
const maxBlockDepth = 16

// PhysicalDevices resolves a device number to the whole devices that hold its
// data: a partition to its disk, device-mapper and md to all their members. A
// loop device stays itself; its file is BackingFile.
func (f FS) PhysicalDevices(dev Device) ([]BlockDevice, error) {
	dir, err := filepath.EvalSymlinks(f.Path("sys", "dev", "block", dev.String()))
	if err != nil {
		return nil, classify(f.Path("sys", "dev", "block", dev.String()), err)
	}
	found := make(map[string]BlockDevice)
	f.descend(dir, found, nil)
	byName := func(a, b BlockDevice) int { return strings.Compare(a.Name, b.Name) }
	return slices.SortedFunc(maps.Values(found), byName), nil
}

func (f FS) descend(dir string, found map[string]BlockDevice, above []Device) {
	if _, err := os.Stat(filepath.Join(dir, "partition")); err == nil {
		dir = filepath.Dir(dir)
	}
	slaves, err := os.ReadDir(filepath.Join(dir, "slaves"))
	if err == nil && len(slaves) > 0 && len(above) < maxBlockDepth {
		own, _ := deviceOf(dir)
		above = append(slices.Clone(above), own)
		for _, s := range slaves {
			target, err := filepath.EvalSymlinks(filepath.Join(dir, "slaves", s.Name()))
			if err == nil {
				f.descend(target, found, above)
			}
		}
		return
	}
	d := readBlockDevice(dir)
	f.count(&d, dir)
	d.Above = above
	if have, ok := found[d.Name]; ok { // two partitions of one disk
		d.Above = append(have.Above, above...)
	}
	found[d.Name] = d
}

// readBlockDevice reads the attributes of a whole device's folder below /sys;
// what is not there stays absent.
func readBlockDevice(dir string) BlockDevice {
	name := filepath.Base(dir)
	d := BlockDevice{Name: strings.ReplaceAll(name, "!", "/"), Kind: blockKind(name)}
	d.Device, _ = deviceOf(dir)
	if s, ok := attr(dir, "device/model"); ok && s != "" {
		d.Model = Some(s)
	}
	if s, ok := attr(dir, "queue/rotational"); ok && (s == "0" || s == "1") {
		d.Rotational = Some(s == "1")
	}
	return d
}

// deviceOf is the number of the block device that a folder below /sys is of.
func deviceOf(dir string) (Device, bool) {
	s, _ := attr(dir, "dev")
	return parseDevice(s)
}

func attr(dir, name string) (string, bool) {
	b, err := readBounded(filepath.Join(dir, name))
	return strings.TrimSpace(string(b)), err == nil
}

// BackingFile returns the file behind a loop device.
func (f FS) BackingFile(name string) (string, error) {
	return f.readString("sys", "block", name, "loop", "backing_file")
}

// BlockDeviceByPath finds the device number of a mount source such as
// /dev/sda1, /dev/mapper/vg-data or /dev/vg/data by the names that /sys knows,
// without touching /dev.
func (f FS) BlockDeviceByPath(source string) (Device, error) {
	name, ok := strings.CutPrefix(source, "/dev/")
	if !ok {
		return Device{}, &readError{source, ErrNoData, errors.New("not a device path")}
	}
	if dev, ok := deviceOf(f.Path("sys", "class", "block", strings.ReplaceAll(name, "/", "!"))); ok {
		return dev, nil
	}
	want := mapperName(name)
	dirs, err := os.ReadDir(f.Path("sys", "block"))
	if err != nil {
		return Device{}, classify(f.Path("sys", "block"), err)
	}
	for _, e := range dirs {
		dir := f.Path("sys", "block", e.Name())
		if dm, ok := attr(dir, "dm/name"); ok && dm == want {
			if dev, ok := deviceOf(dir); ok {
				return dev, nil
			}
		}
	}
	return Device{}, &readError{source, ErrNoData, errors.New("no block device of that name")}
}

// mapperName turns a path below /dev into the name device-mapper uses: LVM
// joins group and volume with a hyphen and doubles the hyphens inside them.
func mapperName(name string) string {
	if rest, ok := strings.CutPrefix(name, "mapper/"); ok {
		return rest
	}
	group, volume, ok := strings.Cut(name, "/")
	if !ok {
		return name
	}
	double := func(s string) string { return strings.ReplaceAll(s, "-", "--") }
	return double(group) + "-" + double(volume)
}

// btrfsMembers returns the devices of the btrfs file system that dev is part
// of, or dev alone where /sys does not say.
func (f FS) btrfsMembers(dev Device) []Device {
	uuids, _ := os.ReadDir(f.Path("sys", "fs", "btrfs")) // none where it cannot be read
	for _, u := range uuids {
		dir := f.Path("sys", "fs", "btrfs", u.Name(), "devices")
		names, _ := os.ReadDir(dir)
		var members []Device
		for _, n := range names {
			if d, ok := deviceOf(filepath.Join(dir, n.Name())); ok {
				members = append(members, d)
			}
		}
		if slices.Contains(members, dev) {
			return members
		}
	}
	return []Device{dev}
}
