package procfs

import (
	"testing"

	"github.com/pipetune/pipetune/internal/must"
)

func TestMemoryRoom(t *testing.T) {
	for _, c := range []struct {
		root string
		pid  int
		want int64 // -1: no limit
	}{
		{"container-v1", 7, 2<<30 - (1048576 - (1000 - 40))},
		{"container-v2", 7, 8<<30 - (1<<30 - (2000 - 300))},
		{"cgroup-v2", 4700, 16<<30 - (16e9 - (10e9 - 1e9))},
		{"debian12-hybrid", 19868, -1},
	} {
		g := must.Get(fixture(t, c.root).Cgroup(c.pid))(t)
		room := must.Get(g.MemoryRoom())(t)
		got, limited := room.Get()
		if limited != (c.want >= 0) || limited && got.Bytes != c.want {
			t.Errorf("%s: %+v, %t; want %d", c.root, got, limited, c.want)
		}
	}
}
