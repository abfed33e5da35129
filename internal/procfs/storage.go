package procfs

import (
	"errors"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// StorageKind says what kind of thing holds the data of a mount.
type StorageKind string

// The kinds. Only StorageBlock has devices in diskstats.
const (
	StorageBlock   StorageKind = "block"
	StorageNetwork StorageKind = "network"
	StorageFUSE    StorageKind = "fuse"
	StorageMemory  StorageKind = "memory"
	// StorageShared is a folder of the host given to a virtual machine (9p,
	// virtiofs): neither local nor quite a network.
	StorageShared  StorageKind = "host-shared"
	StorageUnknown StorageKind = "unknown"
)

// Storage is where the data below a path really lies.
type Storage struct {
	// Mount is the mount of the path itself.
	Mount Mount
	Kind  StorageKind
	// FSType is the type of the file system at the end of the walk: that of an
	// overlay's folders, not "overlay".
	FSType string
	// Devices are the physical devices, each once.
	Devices []BlockDevice
	// Unresolved says why Devices may be incomplete or empty; "" where all of
	// them were found.
	Unresolved string
}

// networkFS are the file systems that are a network away (statfs(2) and each
// one's documentation).
var networkFS = map[string]bool{
	"nfs": true, "nfs4": true, "cifs": true, "smb3": true, "smbfs": true, "ncpfs": true, "afs": true, "coda": true,
	"ceph": true, "lustre": true, "gpfs": true, "beegfs": true, "wekafs": true, "panfs": true, "orangefs": true,
	"pvfs2": true, "ocfs2": true, "gfs2": true, "quobyte": true, "acfs": true, "vastnfs": true,
}

var memoryFS = map[string]bool{"tmpfs": true, "ramfs": true, "devtmpfs": true, "hugetlbfs": true}

var sharedFS = map[string]bool{"9p": true, "virtiofs": true, "vboxsf": true, "prl_fs": true, "vmhgfs": true}

// fuseNetwork are FUSE file systems whose data is known to be remote; others
// may be local (fuse.overlayfs, fuse.mergerfs).
var fuseNetwork = []string{"sshfs", "s3fs", "gcsfuse", "goofys", "rclone", "glusterfs", "blobfuse", "blobfuse2",
	"mount-s3", "mountpoint-s3", "juicefs", "JuiceFS", "ceph-fuse", "cvmfs2", "alluxio-fuse", "davfs", "moosefs",
	"seaweedfs", "lizardfs", "hdfs"}

// KindOfFS classifies a file system by its mountinfo type, "fuse.sshfs" style.
func KindOfFS(fstype string) StorageKind {
	base, _, _ := strings.Cut(fstype, ".")
	switch {
	case networkFS[base]:
		return StorageNetwork
	case memoryFS[fstype]:
		return StorageMemory
	case sharedFS[fstype]:
		return StorageShared
	case base == "fuse":
		return StorageFUSE
	case fstype == "overlay", fstype == "aufs", fstype == "ecryptfs":
		return StorageUnknown
	}
	return StorageBlock
}

// Numbers of file systems in statfs(2) that golang.org/x/sys has no name for, from
// their own sources: OpenZFS (include/sys/fs/zfs.h), GPFS (its gpfs.h), Lustre and
// BeeGFS.
const (
	MagicZFS    = 0x2fc12fc1
	MagicGPFS   = 0x47504653
	magicLustre = 0x0bd00bd0
	magicBeeGFS = 0x19830326
)

// magicTypes are the types by these numbers and those of
// include/uapi/linux/magic.h.
var magicTypes = map[int64]string{
	unix.TMPFS_MAGIC: "tmpfs", unix.RAMFS_MAGIC: "ramfs", unix.NFS_SUPER_MAGIC: "nfs", unix.CIFS_SUPER_MAGIC: "cifs",
	unix.SMB2_SUPER_MAGIC: "smb3", unix.CEPH_SUPER_MAGIC: "ceph", unix.AFS_SUPER_MAGIC: "afs",
	unix.AFS_FS_MAGIC: "afs", unix.OCFS2_SUPER_MAGIC: "ocfs2", magicLustre: "lustre", MagicGPFS: "gpfs",
	magicBeeGFS: "beegfs", unix.V9FS_MAGIC: "9p", unix.FUSE_SUPER_MAGIC: "fuse", unix.EXT4_SUPER_MAGIC: "ext4",
	unix.XFS_SUPER_MAGIC: "xfs", unix.BTRFS_SUPER_MAGIC: "btrfs", MagicZFS: "zfs",
}

// KindOfMagic classifies a file system by its number in statfs(2); not ok where
// the number says nothing of that.
func KindOfMagic(number int64) (kind StorageKind, ok bool) {
	fstype, ok := magicTypes[int64(uint32(number))]
	if !ok {
		return "", false
	}
	return KindOfFS(fstype), true
}

// RemoteFUSE reports whether a FUSE type is one whose data is known to be on
// the network.
func RemoteFUSE(fstype string) bool {
	sub, ok := strings.CutPrefix(fstype, "fuse.")
	return ok && slices.Contains(fuseNetwork, sub)
}

// ownVolumes are the file systems on local devices that manage them themselves
// and give an anonymous device number.
var ownVolumes = map[string]bool{"btrfs": true, "zfs": true, "bcachefs": true}

// Distant reports whether something else than a device here does the reading.
func (k StorageKind) Distant() bool {
	return k == StorageNetwork || k == StorageFUSE || k == StorageShared
}

// maxStorageDepth bounds overlay on loop on overlay …
const maxStorageDepth = 8

// StorageOf resolves a clean absolute path, with symbolic links resolved by the
// caller, to what holds it. It reads mountinfo and /sys only and never touches
// the path, so a hung mount cannot hold it.
func (f FS) StorageOf(mounts []Mount, file string) (Storage, error) {
	m, ok := MountOf(mounts, path.Clean(file))
	if !ok {
		return Storage{}, &readError{file, ErrNoData, errors.New("no mount holds this path")}
	}
	s := Storage{Mount: m, Kind: KindOfFS(m.FSType), FSType: m.FSType}
	f.resolve(mounts, m, &s, 0)
	return s, nil
}

func (f FS) resolve(mounts []Mount, m Mount, s *Storage, depth int) {
	if depth >= maxStorageDepth {
		s.Unresolved = "too many layers of mounts"
		return
	}
	switch {
	case m.FSType == "overlay":
		f.resolveOverlay(mounts, m, s, depth)
	case KindOfFS(m.FSType) == StorageBlock:
		// A layer of an overlay may lie on the network: that is the slower one.
		if !s.Kind.Distant() {
			s.Kind, s.FSType = StorageBlock, m.FSType
		}
		f.resolveBlock(m, s, depth)
	default:
		if kind := KindOfFS(m.FSType); kind.Distant() || !s.Kind.Distant() && s.Kind != StorageBlock {
			s.Kind, s.FSType = kind, m.FSType
		}
	}
}

func (f FS) resolveBlock(m Mount, s *Storage, depth int) {
	devs := []Device{m.Device}
	if m.Device.Major == 0 { // btrfs, zfs and others give an anonymous number
		dev, err := f.BlockDeviceByPath(m.Source)
		if err != nil {
			s.Unresolved = "the " + m.FSType + " file system does not name its devices"
			if !ownVolumes[m.FSType] {
				s.Kind = StorageUnknown // proc, sysfs, a file system not known here
			}
			return
		}
		devs = []Device{dev}
		if m.FSType == "btrfs" {
			devs = f.btrfsMembers(dev)
		}
	}
	for _, dev := range devs {
		found, err := f.PhysicalDevices(dev)
		if err != nil {
			s.Unresolved = "device " + dev.String() + " is not in /sys/dev/block"
			continue
		}
		for _, d := range found {
			f.addDevice(d, s, depth)
		}
	}
}

// addDevice adds a device, or what holds the file of a loop device. The kernel names that file as the one who asks sees
// it, which is us and not the job.
func (f FS) addDevice(d BlockDevice, s *Storage, depth int) {
	if d.Kind == BlockLoop {
		own, err1 := f.Mounts()
		if file, err := f.BackingFile(d.Name); err1 == nil && err == nil && strings.HasPrefix(file, "/") {
			if under, ok := MountOf(own, path.Clean(file)); ok && under.Device != d.Device {
				f.resolve(own, under, s, depth+1)
				return
			}
		}
		s.Unresolved = "the file behind " + d.Name + " was not found"
	}
	if !slices.ContainsFunc(s.Devices, func(have BlockDevice) bool { return have.Name == d.Name }) {
		s.Devices = append(s.Devices, d)
	}
}

// resolveOverlay resolves each folder of an overlay. Container engines name
// them by paths of the host, which lead back to the overlay itself inside the
// container: then our own mounts are asked, which know them where pipetune runs
// on the host. Layers named relative to a folder unknown here lie beside the
// others as a rule. Where none is found that is said rather than guessed at.
func (f FS) resolveOverlay(mounts []Mount, m Mount, s *Storage, depth int) {
	found := false
	for _, dir := range overlayDirs(m.SuperOptions) {
		if !strings.HasPrefix(dir, "/") {
			continue
		}
		under, ok := underOverlay(mounts, m, dir)
		if !ok {
			if own, err := f.Mounts(); err == nil {
				mounts = own
				under, ok = underOverlay(own, m, dir)
			}
		}
		if ok {
			found = true
			f.resolve(mounts, under, s, depth+1)
		}
	}
	if !found {
		s.Unresolved = "the folders below the overlay are not visible from here"
	}
}

func underOverlay(mounts []Mount, m Mount, dir string) (Mount, bool) {
	under, ok := MountOf(mounts, path.Clean(dir))
	return under, ok && under.FSType != "overlay" && under.Device != m.Device
}

// overlayDirs returns lowerdir and upperdir of the options; a colon in a name
// is escaped with a backslash.
func overlayDirs(options string) []string {
	var dirs []string
	for opt := range strings.SplitSeq(options, ",") {
		key, value, _ := strings.Cut(opt, "=")
		switch strings.TrimSuffix(key, "+") {
		case "upperdir":
			dirs = append(dirs, value)
		case "lowerdir":
			value = strings.ReplaceAll(value, `\:`, "\x00")
			for d := range strings.SplitSeq(value, ":") {
				if d != "" {
					dirs = append(dirs, strings.ReplaceAll(d, "\x00", ":"))
				}
			}
		}
	}
	return dirs
}
