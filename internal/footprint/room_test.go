package footprint

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/procfs/fakeroot"
)

// TestRoomFor: a control group that is nearly full is left alone, page cache not counted.
func TestRoomFor(t *testing.T) {
	for _, c := range []struct {
		name, root  string
		pid         int
		use, cached int64 // of 8 GiB
		want        string
	}{
		{name: "no control groups", root: "bare", pid: 7},
		{name: "much is left", root: "container-v2", pid: 7, use: 1 << 30},
		{name: "just enough is left", root: "container-v2", pid: 7, use: 8<<30 - BenchRoom},
		{name: "little is left", root: "container-v2", pid: 7, use: 8<<30 - 8<<20,
			want: "of the memory limit of 8 GiB, 8 MiB is left: bench-io begins with 64 MiB or more"},
		{name: "the rest is page cache", root: "container-v2", pid: 7, use: 8<<30 - 8<<20, cached: 1 << 30},
		{name: "the limit was lowered", root: "container-v2", pid: 7, use: 9 << 30, want: "of 8 GiB, 0 B is left"},
	} {
		root := fakeroot.Machine(t, c.root)
		if c.use > 0 {
			root.Put("sys/fs/cgroup/memory.current", fmt.Sprintln(c.use))
			root.Put("sys/fs/cgroup/memory.stat", fmt.Sprintf("anon 1000\nfile %d\nshmem 0\n", c.cached))
		}
		fs := procfs.FS{Root: root.Dir}
		err := RoomFor(fs, c.pid, "bench-io", BenchRoom)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		spare, known := SpareFor(fs, c.pid)()
		if free := int64(8<<30) - c.use + c.cached - BenchRoom; c.use > 0 && (!known || spare > max(0, free)) {
			t.Errorf("%s: %d bytes may be taken, %v; the limit leaves %d", c.name, spare, known, free)
		}
	}
}
