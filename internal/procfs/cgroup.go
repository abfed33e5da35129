package procfs

import (
	"errors"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// CgroupEntry is one line of /proc/PID/cgroup.
type CgroupEntry struct {
	// Hierarchy is 0 for version 2.
	Hierarchy int
	// Controllers is empty for version 2.
	Controllers []string
	// Path is relative to the root of the reader's cgroup namespace, unclean.
	Path string
}

// ParseCgroupEntries parses "hierarchy:controllers:path" lines (cgroups(7)).
func ParseCgroupEntries(b []byte) (out []CgroupEntry, err error) {
	err = eachLine(b, "cgroup", func(line []byte) bool {
		parts := strings.SplitN(string(line), ":", 3)
		if len(parts) != 3 || !strings.HasPrefix(parts[2], "/") {
			return false
		}
		n, ok := parseCount([]byte(parts[0]))
		e := CgroupEntry{Hierarchy: int(n), Path: parts[2]}
		if parts[1] != "" {
			e.Controllers = strings.Split(parts[1], ",")
		}
		out = append(out, e)
		return ok && n <= 1<<20
	})
	return out, emptied(&out, err)
}

// CgroupMode says which versions this machine has mounted.
type CgroupMode string

// The modes. In hybrid mode the controllers are those of version 1 and version
// 2 is mounted beside them for grouping.
const (
	CgroupNone   CgroupMode = "none"
	CgroupV1     CgroupMode = "v1"
	CgroupV2     CgroupMode = "v2"
	CgroupHybrid CgroupMode = "hybrid"
)

// Cgroup is where one process stands in the hierarchies.
type Cgroup struct {
	Mode CgroupMode
	fs   FS
	// dirs maps a controller to its folders from the process' own up to the
	// mount; "" is the version 2 hierarchy.
	dirs map[string][]string
	// unified are the controllers of version 2 in hybrid mode.
	unified []string
}

// Cgroup finds the groups of a process. ErrNoData says that no cgroup file
// system is mounted, or that the process' groups lie outside of what is visible
// here.
func (f FS) Cgroup(pid int) (Cgroup, error) {
	b, err := f.readFile("proc", strconv.Itoa(pid), "cgroup")
	if err != nil {
		return Cgroup{Mode: CgroupNone}, goneFrom(err)
	}
	entries, err := ParseCgroupEntries(b)
	if err != nil {
		return Cgroup{Mode: CgroupNone}, err
	}
	mounts, err := f.Mounts()
	if err != nil {
		return Cgroup{Mode: CgroupNone}, err
	}
	return f.cgroupFrom(entries, mounts)
}

func (f FS) cgroupFrom(entries []CgroupEntry, mounts []Mount) (Cgroup, error) {
	c := Cgroup{Mode: cgroupMode(mounts), fs: f, dirs: make(map[string][]string)}
	for _, e := range entries {
		for _, m := range mounts {
			names, ok := matchCgroupMount(m, e)
			if !ok {
				continue
			}
			dirs := f.groupDirs(m, e.Path)
			for _, name := range names {
				if len(dirs) > len(c.dirs[name]) {
					c.dirs[name] = dirs
				}
			}
		}
	}
	if d := c.dirs[""]; len(d) > 0 && c.Mode == CgroupHybrid {
		list, _ := attr(d[len(d)-1], "cgroup.controllers")
		c.unified = strings.Fields(list)
	}
	if len(c.dirs) == 0 {
		return c, &readError{f.Path("sys", "fs", "cgroup"), ErrNoData,
			errors.New("no cgroup of the process is visible here")}
	}
	return c, nil
}

func cgroupMode(mounts []Mount) CgroupMode {
	var v1, v2 bool
	for _, m := range mounts {
		v1 = v1 || (m.FSType == "cgroup" && !strings.Contains(m.SuperOptions, "name="))
		v2 = v2 || m.FSType == "cgroup2"
	}
	switch {
	case v1 && v2:
		return CgroupHybrid
	case v1:
		return CgroupV1
	case v2:
		return CgroupV2
	}
	return CgroupNone
}

// matchCgroupMount reports under which names a mount serves an entry.
func matchCgroupMount(m Mount, e CgroupEntry) ([]string, bool) {
	if e.Hierarchy == 0 && len(e.Controllers) == 0 {
		return []string{""}, m.FSType == "cgroup2"
	}
	if m.FSType != "cgroup" {
		return nil, false
	}
	opts := strings.Split(m.SuperOptions, ",")
	var names []string
	for _, c := range e.Controllers {
		if slices.Contains(opts, c) {
			names = append(names, c)
		}
	}
	return names, len(names) > 0
}

// groupDirs returns the folders from the process' own group up to the mount. In
// a container without a cgroup namespace the mount shows only a subtree (its
// Root) of what /proc/PID/cgroup names, so that prefix is taken off. nil where
// the group is not below the mount.
func (f FS) groupDirs(m Mount, group string) []string {
	if group == "/.." || strings.HasPrefix(group, "/../") {
		return nil // above the root of our cgroup namespace
	}
	group = path.Clean(group)
	rel := group
	if m.Root != "/" {
		if !below(group, m.Root) {
			return nil
		}
		rel = strings.TrimPrefix(group, m.Root)
	}
	var dirs []string
	for rel = path.Clean("/" + rel); ; rel = path.Dir(rel) {
		dir := f.Path(m.Point, rel)
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			dirs = append(dirs, dir)
		}
		if rel == "/" {
			return dirs
		}
	}
}

// version returns the folders that hold a controller's files and which version
// they are of.
func (c Cgroup) version(controller string) (dirs []string, v int) {
	if d := c.dirs[controller]; len(d) > 0 {
		return d, 1
	}
	if d := c.dirs[""]; len(d) > 0 && (c.Mode == CgroupV2 || slices.Contains(c.unified, controller)) {
		return d, 2
	}
	return nil, 0
}
