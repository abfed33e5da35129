package procfs

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sort"
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

// The kinds, from the device's name, which the driver gives it.
const (
	BlockNVMe    BlockKind = "nvme"
	BlockVirtio  BlockKind = "virtio"
	BlockSCSI    BlockKind = "scsi" // SATA, SAS, USB and most cloud disks
	BlockXen     BlockKind = "xen"
	BlockMMC     BlockKind = "mmc"
	BlockPMem    BlockKind = "pmem"
	BlockZRAM    BlockKind = "zram"
	BlockRAM     BlockKind = "ram"
	BlockLoop    BlockKind = "loop"
	BlockNetwork BlockKind = "network-block" // nbd, rbd, drbd
	BlockMapper  BlockKind = "device-mapper"
	BlockMD      BlockKind = "md"
	BlockOther   BlockKind = "other"
)

var blockPrefixes = []struct {
	prefix string
	kind   BlockKind
}{
	{"nvme", BlockNVMe}, {"vd", BlockVirtio}, {"sd", BlockSCSI}, {"sr", BlockSCSI}, {"xvd", BlockXen},
	{"mmcblk", BlockMMC},
	{"pmem", BlockPMem}, {"zram", BlockZRAM}, {"ram", BlockRAM}, {"loop", BlockLoop}, {"nbd", BlockNetwork},
	{"rbd", BlockNetwork}, {"drbd", BlockNetwork}, {"dm-", BlockMapper}, {"md", BlockMD},
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
	set, ok := d.Rotational.Get()
	if !ok {
		return Optional[bool]{}
	}
	if set && (virtual || d.Kind != BlockSCSI) {
		return Optional[bool]{}
	}
	return Some(set)
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
	out := make([]BlockDevice, 0, len(found))
	for _, d := range found {
		out = append(out, d)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out, nil
}

func (f FS) descend(dir string, found map[string]BlockDevice, above []Device) {
	if _, err := os.Stat(filepath.Join(dir, "partition")); err == nil {
		dir = filepath.Dir(dir)
	}
	slaves, err := os.ReadDir(filepath.Join(dir, "slaves"))
	if err == nil && len(slaves) > 0 && len(above) < maxBlockDepth {
		var own Device
		if s, ok := attr(dir, "dev"); ok {
			own, _ = parseDevice(s)
		}
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
	if s, ok := attr(dir, "dev"); ok {
		d.Device, _ = parseDevice(s)
	}
	if s, ok := attr(dir, "device/model"); ok && s != "" {
		d.Model = Some(s)
	}
	if s, ok := attr(dir, "queue/rotational"); ok && (s == "0" || s == "1") {
		d.Rotational = Some(s == "1")
	}
	return d
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
	if s, err := f.readString("sys", "class", "block", strings.ReplaceAll(name, "/", "!"), "dev"); err == nil {
		if dev, ok := parseDevice(s); ok {
			return dev, nil
		}
	}
	want := mapperName(name)
	dirs, err := os.ReadDir(f.Path("sys", "block"))
	if err != nil {
		return Device{}, classify(f.Path("sys", "block"), err)
	}
	for _, e := range dirs {
		dir := f.Path("sys", "block", e.Name())
		if dm, ok := attr(dir, "dm/name"); !ok || dm != want {
			continue
		}
		if s, ok := attr(dir, "dev"); ok {
			if dev, ok := parseDevice(s); ok {
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
	uuids, err := os.ReadDir(f.Path("sys", "fs", "btrfs"))
	if err != nil {
		return []Device{dev}
	}
	for _, u := range uuids {
		dir := f.Path("sys", "fs", "btrfs", u.Name(), "devices")
		names, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		var members []Device
		mine := false
		for _, n := range names {
			s, ok := attr(filepath.Join(dir, n.Name()), "dev")
			if d, ok2 := parseDevice(s); ok && ok2 {
				members = append(members, d)
				mine = mine || d == dev
			}
		}
		if mine {
			return members
		}
	}
	return []Device{dev}
}
