package host

import (
	"context"
	"fmt"
	"path"

	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/untrusted"
)

// The kinds of recording.Storage that are not only looked up.
const (
	kindNetwork = "network"
	kindUnknown = "unknown"
)

var kinds = map[procfs.StorageKind]string{
	procfs.StorageBlock: "disk", procfs.StorageMemory: "tmpfs", procfs.StorageNetwork: kindNetwork,
	procfs.StorageFUSE: "fuse", procfs.StorageShared: kindNetwork, procfs.StorageUnknown: kindUnknown,
}

// PlaceOf is a header's row on where a path of the job lies, which is shown as the redaction says; virtual: on a
// virtual machine, whose disks call themselves rotational whatever they are.
func PlaceOf(file string, s procfs.Storage, virtual bool, r untrusted.Redaction) recording.Storage {
	out := recording.Storage{Path: untrusted.Path(file, r), FSType: untrusted.Sanitize(s.FSType), Kind: kinds[s.Kind]}
	switch {
	case out.Kind == "":
		out.Kind = kindUnknown
	case procfs.RemoteFUSE(s.FSType):
		out.Kind = kindNetwork
	}
	for i, dev := range s.Devices {
		out.Devices = append(out.Devices, untrusted.Sanitize(dev.Name))
		if turning, ok := dev.Turning(virtual).Get(); ok && (out.Rotational == nil || turning) {
			out.Rotational = &turning
		}
		if model, ok := dev.Model.Get(); ok && i == 0 {
			out.Model = untrusted.Sanitize(model)
		}
	}
	return out
}

// Storage says what holds a path of the job. The path is absolute and without symbolic links, as the job's process sees
// it. The mount table and /sys are read here; where they do not tell, the file system itself is asked, in the child
// only.
func Storage(ctx context.Context, o Options, file string) (recording.Storage, error) {
	failed := func(err error) (recording.Storage, error) {
		return recording.Storage{}, fmt.Errorf("finding the storage of %s: %w", untrusted.Path(file, o.Redaction), err)
	}
	p, err := o.FS.OpenID(o.Target)
	if err != nil {
		return failed(err)
	}
	defer p.Close()
	mounts, err := p.Mounts(o.FS)
	if err != nil {
		return failed(err)
	}
	s, err := o.FS.StorageOf(mounts, file)
	if err != nil {
		return failed(err)
	}
	out := PlaceOf(file, s, o.FS.Hypervisor() != "", o.Redaction)
	if out.Kind != kindUnknown || o.Paths == nil {
		return out, nil
	}
	root := ""
	if shared, err := p.SharesOurMounts(o.FS); err != nil || !shared {
		root = p.Inside()
	}
	st, err := o.Paths.Statfs(ctx, path.Join(root, s.Mount.Point), path.Join(root, file))
	if kind, ok := procfs.KindOfMagic(st.Type); ok && err == nil { // else the mount table's word stands
		out.Kind = kinds[kind]
	}
	return out, nil
}
