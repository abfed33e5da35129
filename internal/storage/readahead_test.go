package storage

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/pipetune/pipetune/internal/must"
)

func TestReadAheadOfAFile(t *testing.T) {
	sys := t.TempDir()
	for path, text := range map[string]string{
		"class/bdi/8:0/read_ahead_kb":     "4096\n",
		"class/bdi/253:0/read_ahead_kb":   "256\n",
		"class/bdi/0:52/read_ahead_kb":    "15360\n", // a network mount
		"devices/sda/queue/read_ahead_kb": "4096\n",
		"devices/sda/sda1/partition":      "1\n",
		"class/bdi/7:0/read_ahead_kb":     "no number\n",
	} {
		path = filepath.Join(sys, path)
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	}
	must.Do(t, os.MkdirAll(filepath.Join(sys, "dev/block"), 0o700))
	must.Do(t, os.Symlink("../../devices/sda/sda1", filepath.Join(sys, "dev/block/8:1")))
	for name, c := range map[string]struct {
		major, minor uint32
		want         int64
	}{
		"a disk":                     {8, 0, 4 << 20},
		"a partition":                {8, 1, 4 << 20},
		"a volume":                   {253, 0, 256 << 10},
		"a network mount":            {0, 52, 15 << 20},
		"an overlay, a btrfs":        {0, 39, 4 << 20},
		"a device that is not told":  {7, 0, usualAhead},
		"a device that is not there": {259, 3, usualAhead},
	} {
		if got := aheadOf(sys, c.major, c.minor); got != c.want {
			t.Errorf("%s: %d bytes, want %d", name, got, c.want)
		}
	}
}
