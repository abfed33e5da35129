package procfs

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/must"
)

func TestStorageOf(t *testing.T) {
	type want struct {
		kind       StorageKind
		fstype     string
		devices    []string
		unresolved bool
	}
	for root, cases := range map[string]map[string]want{
		"cgroup-v2": {
			"/home/me/data":               {StorageBlock, "ext4", []string{"nvme0n1"}, false},
			"/scratch/x":                  {StorageBlock, "xfs", []string{"sda", "sdb"}, false},
			"/scratchy":                   {StorageBlock, "ext4", []string{"nvme0n1"}, false},
			"/btr/sub/file":               {StorageBlock, "btrfs", []string{"nvme1n1", "nvme2n1"}, false},
			"/loop/images/1.png":          {StorageBlock, "xfs", []string{"sda", "sdb"}, false},
			"/nfs/imagenet":               {StorageNetwork, "nfs4", nil, false},
			"/mnt/with blank/x":           {StorageFUSE, "fuse.sshfs", nil, false},
			"/data/sub/hidden":            {StorageNetwork, "nfs4", nil, false},
			"/merged/file":                {StorageBlock, "xfs", []string{"sda", "sdb"}, false},
			"/zfs/x":                      {StorageBlock, "zfs", nil, true},
			"/proc/1":                     {StorageUnknown, "proc", nil, true},
			"/dev/shm/torch_1_2_3":        {StorageMemory, "tmpfs", nil, false},
			"/host/x":                     {StorageShared, "virtiofs", nil, false},
			"/nfs/../scratch/./elsewhere": {StorageBlock, "xfs", []string{"sda", "sdb"}, false},
		},
		"container-v2": {
			"/data/train": {StorageBlock, "ext4", []string{"nvme0n1"}, false},
			"/opt/data":   {StorageUnknown, "overlay", nil, true},
		},
		"debian12-hybrid": {"/home": {StorageBlock, "ext4", []string{"vda"}, false}},
		"bare":            {"/data": {StorageShared, "9p", nil, false}},
	} {
		f := fixture(t, root)
		mounts := must.Get(f.Mounts())(t)
		for path, w := range cases {
			s := must.Get(f.StorageOf(mounts, path))(t)
			got := want{s.Kind, s.FSType, nil, s.Unresolved != ""}
			for _, d := range s.Devices {
				got.devices = append(got.devices, d.Name)
			}
			slices.Sort(got.devices)
			if diff := cmp.Diff(w, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("%s of %s (%s): %s", path, root, s.Unresolved, diff)
			}
		}
	}
}

func TestBlockDeviceAttributes(t *testing.T) {
	f := fixture(t, "cgroup-v2")
	got := must.Get(f.PhysicalDevices(Device{253, 1}))(t)
	want := []BlockDevice{{
		Name: "nvme0n1", Device: Device{259, 0}, Kind: BlockDisk, Model: Some("Samsung SSD 980 PRO 1TB"),
		Rotational: Some(false), Counters: []string{"nvme0n1"}, Above: []Device{{253, 1}, {253, 0}},
	}}
	if diff := cmp.Diff(want, got, optionals); diff != "" {
		t.Error(diff)
	}
	if _, err := f.PhysicalDevices(Device{1, 99}); err == nil {
		t.Error("a device that is not there was found")
	}
}

// TestCountersOfBlockDevices: the head of NVMe multipath shows zeros before Linux 6.2; its hidden paths count.
func TestCountersOfBlockDevices(t *testing.T) {
	f := fixture(t, "nvme-multipath")
	for dev, want := range map[Device]BlockDevice{
		{259, 2}: {Name: "nvme0n1", Device: Device{259, 1}, Counters: []string{"nvme0c0n1", "nvme0c1n1"}},
		{253, 0}: {Name: "nvme1n1", Device: Device{259, 3}, Counters: []string{"nvme1c3n1"}, Above: []Device{{253, 0}}},
		{259, 4}: {Name: "nvme2n1", Device: Device{259, 4}, Uncounted: Uncounted{"its I/O accounting is switched off",
			"echo 1 | sudo tee /sys/block/nvme2n1/queue/iostats"}},
		{259, 5}: {Name: "nvme3n1", Device: Device{259, 5}, Uncounted: Uncounted{Reason: "it is the head of NVMe " +
			"multipath, which kernels before 6.2 do not count, and its paths are not in /sys/block"}},
		{8, 1}: {Name: "sda", Device: Device{8, 0}, Counters: []string{"sda"}},
	} {
		got, err := f.PhysicalDevices(dev)
		if err != nil || len(got) != 1 {
			t.Fatal(dev, got, err)
		}
		want.Kind = blockKind(want.Name)
		if diff := cmp.Diff(want, got[0], optionals); diff != "" {
			t.Errorf("%v: %s", dev, diff)
		}
	}
	for _, name := range []string{"nvme0n1", "nvme0c0n1p1", "nvmec0n1", "nvme0c0", "sda", "nvme0cn1", ""} {
		if head := headOfPath(name); head != "" {
			t.Errorf("%s was taken for a path of %s", name, head)
		}
	}
}

// TestRotationalFlagOfAVirtualDisk keeps the kernel's default for virtio, which is set, from being taken for a turning
// disk.
func TestRotationalFlagOfAVirtualDisk(t *testing.T) {
	f := fixture(t, "debian12-hybrid")
	got, err := f.PhysicalDevices(Device{254, 0})
	if err != nil || len(got) != 1 {
		t.Fatal(got, err)
	}
	if !got[0].Rotational.Or(false) {
		t.Fatalf("the fixture's flag is not set: %+v", got[0])
	}
	if turning, ok := got[0].Turning(true).Get(); ok {
		t.Errorf("a virtio disk is said to turn: %v", turning)
	}
	sda, err := fixture(t, "cgroup-v2").PhysicalDevices(Device{9, 0})
	if err != nil || len(sda) != 2 {
		t.Fatal(sda, err)
	}
	if turning, ok := sda[0].Turning(false).Get(); !ok || !turning {
		t.Error("a SCSI disk with the flag set does not turn")
	}
	if _, ok := sda[0].Turning(true).Get(); ok {
		t.Error("a SCSI disk of a virtual machine is believed")
	}
}

func TestHidePID(t *testing.T) {
	for root, want := range map[string]string{"cgroup-v2": "invisible", "debian12-hybrid": ""} {
		mounts := must.Get(fixture(t, root).Mounts())(t)
		if got := HidePID(mounts); got != want {
			t.Errorf("%s hides %q, want %q", root, got, want)
		}
	}
}

// TestMountOfStackedMounts: /dev/shm is mounted twice in this capture, and the later mount is the one that is seen.
func TestMountOfStackedMounts(t *testing.T) {
	mounts := must.Get(fixture(t, "debian12-hybrid").Mounts())(t)
	var last Mount
	n := 0
	for _, m := range mounts {
		if m.Point == "/dev/shm" {
			last, n = m, n+1
		}
	}
	if got, ok := MountOf(mounts, "/dev/shm/torch_1"); !ok || n != 2 || got.ID != last.ID {
		t.Errorf("got %+v of %d mounts, want %+v", got, n, last)
	}
}

// TestContainerSeenFromTheHost: the overlay of a container names folders of the host, which its own mount table does
// not hold.
func TestContainerSeenFromTheHost(t *testing.T) {
	f := fixture(t, "cgroup-v2")
	inside := must.Get(ParseMounts([]byte("600 500 0:80 / / rw - overlay overlay " +
		"rw,lowerdir=l/AAA:l/BBB,upperdir=/scratch/docker/x/diff,workdir=/scratch/docker/x/work\n")))(t)
	s, err := f.StorageOf(inside, "/opt/data")
	if err != nil || s.Kind != StorageBlock || s.FSType != "xfs" || len(s.Devices) != 2 || s.Unresolved != "" {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestImageSeenInAContainer: the file behind a loop device is named as pipetune sees it, not as the container does.
func TestImageSeenInAContainer(t *testing.T) {
	f := fixture(t, "cgroup-v2")
	inside := must.Get(ParseMounts([]byte("600 500 259:5 / / rw - ext4 /dev/nvme1n1 rw\n601 600 7:3 / /data ro - " +
		"squashfs /dev/loop3 ro\n")))(t)
	s, err := f.StorageOf(inside, "/data/train")
	if err != nil || s.Kind != StorageBlock || s.FSType != "xfs" || len(s.Devices) != 2 || s.Devices[0].Name != "sda" ||
		s.Unresolved != "" {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestOverlayOverTheNetwork: with folders on a disk and on a server, it is the server that a job waits for.
func TestOverlayOverTheNetwork(t *testing.T) {
	f := fixture(t, "cgroup-v2")
	own := must.Get(f.Mounts())(t)
	for _, options := range []string{"lowerdir=/nfs/lower,upperdir=/scratch/up,workdir=/scratch/work",
		"lowerdir=/scratch/lower:/nfs/lower"} {
		more := must.Get(ParseMounts([]byte("90 27 0:90 / /both rw - overlay overlay rw," + options + "\n")))(t)
		s, err := f.StorageOf(append(slices.Clone(own), more...), "/both/train")
		if err != nil || s.Kind != StorageNetwork || s.FSType != "nfs4" {
			t.Errorf("%s: %+v, %v", options, s, err)
		}
	}
}

// TestKindOfMagic: statfs(2) and the mount table agree, also where a number does not fit into 31 bits.
func TestKindOfMagic(t *testing.T) {
	for fstype, number := range map[string]int64{"nfs": unix.NFS_SUPER_MAGIC, "cifs": unix.CIFS_SUPER_MAGIC,
		"smb3": -1<<32 | unix.SMB2_SUPER_MAGIC, "9p": unix.V9FS_MAGIC, "fuse": unix.FUSE_SUPER_MAGIC,
		"tmpfs": unix.TMPFS_MAGIC, "ramfs": unix.RAMFS_MAGIC, "ext4": unix.EXT4_SUPER_MAGIC, "zfs": MagicZFS,
		"gpfs": MagicGPFS, "ocfs2": unix.OCFS2_SUPER_MAGIC} {
		if kind, ok := KindOfMagic(number); !ok || kind != KindOfFS(fstype) {
			t.Errorf("%s: %q (%v), by its name %q", fstype, kind, ok, KindOfFS(fstype))
		}
	}
	if kind, ok := KindOfMagic(unix.OVERLAYFS_SUPER_MAGIC); ok || kind.Distant() {
		t.Errorf("an overlay, which says nothing of what is below: %q", kind)
	}
}
