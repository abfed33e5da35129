package host

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/untrusted"
)

// TestPlaceOf: one disk that turns makes the place turn, whichever it is, and a FUSE client of a server is a network.
func TestPlaceOf(t *testing.T) {
	disk := func(name string, turns bool, model string) procfs.BlockDevice {
		return procfs.BlockDevice{Name: name, Kind: procfs.BlockSCSI, Rotational: procfs.Some(turns),
			Model: procfs.Some(model)}
	}
	mirrored := []procfs.BlockDevice{disk("sda", true, "A\x1b"), disk("sdb", false, "B")}
	for _, c := range []struct {
		name    string
		storage procfs.Storage
		virtual bool
		want    recording.Storage
	}{
		{"disks", procfs.Storage{Kind: procfs.StorageBlock, FSType: "ext4", Devices: mirrored}, false,
			recording.Storage{Kind: "disk", FSType: "ext4", Devices: []string{"sda", "sdb"}, Rotational: new(true),
				Model: `A\x1b`}},
		{"virtual disks", procfs.Storage{Kind: procfs.StorageBlock, FSType: "ext4", Devices: mirrored[:1]}, true,
			recording.Storage{Kind: "disk", FSType: "ext4", Devices: []string{"sda"}, Model: `A\x1b`}},
		{"FUSE", procfs.Storage{Kind: procfs.StorageFUSE, FSType: "fuse.mergerfs"}, false,
			recording.Storage{Kind: "fuse", FSType: "fuse.mergerfs"}},
		{"FUSE of a server", procfs.Storage{Kind: procfs.StorageFUSE, FSType: "fuse.sshfs"}, false,
			recording.Storage{Kind: "network", FSType: "fuse.sshfs"}},
		{"not resolved", procfs.Storage{}, false, recording.Storage{Kind: "unknown"}},
	} {
		c.want.Path = "~/data"
		got := PlaceOf("/home/me/data", c.storage, c.virtual, untrusted.Redaction{Home: "/home/me"})
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
