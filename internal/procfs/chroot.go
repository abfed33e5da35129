package procfs

import (
	"slices"

	"golang.org/x/sys/unix"
)

// withRoot adds the mount that holds the root folder to a list that lacks it: mountinfo names what is mounted at and
// below the root of its process, and a root that chroot(2) set lies on a mount above that. The list stays as it is
// where that mount is not known.
func withRoot(mounts []Mount, holder func() (Mount, bool)) []Mount {
	if slices.ContainsFunc(mounts, func(m Mount) bool { return m.Point == "/" }) {
		return mounts
	}
	root, ok := holder()
	if !ok {
		return mounts
	}
	// What is mounted on it says its number.
	orphan := slices.IndexFunc(mounts, func(m Mount) bool {
		return !slices.ContainsFunc(mounts, func(parent Mount) bool { return parent.ID == m.Parent })
	})
	root.Point, root.ID = "/", 0
	if orphan >= 0 {
		root.ID = mounts[orphan].Parent
	}
	root.Parent = root.ID
	return append(mounts, root)
}

// ownRoot says what our own root folder lies on, by asking the file system: this program was started from it, so it
// answers. Not ok where its number is not among magicTypes.
func (f FS) ownRoot() (Mount, bool) {
	var st unix.Stat_t
	var fs unix.Statfs_t
	if f.Root != "" || unix.Stat("/", &st) != nil || unix.Statfs("/", &fs) != nil {
		return Mount{}, false
	}
	fstype, ok := magicTypes[int64(uint32(fs.Type))]
	return Mount{Device: Device{unix.Major(st.Dev), unix.Minor(st.Dev)}, Root: "/", FSType: fstype}, ok
}

// rootIn finds the root folder of the process among our own mounts; not ok where it sees others.
func (p *Process) rootIn(f FS) (Mount, bool) {
	root, err := p.Root()
	if err != nil {
		return Mount{}, false
	}
	if shared, err := p.SharesOurMounts(f); err != nil || !shared {
		return Mount{}, false
	}
	own, err := f.Mounts()
	if err != nil {
		return Mount{}, false
	}
	return MountOf(own, root)
}
