package probe

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/must"
)

// mapped maps a file into memory and touches its pages, as another process may, until the test ends.
func mapped(t *testing.T, path string) {
	t.Helper()
	f := must.Get(os.Open(path))(t)
	defer f.Close()
	size := int(must.Get(f.Stat())(t).Size())
	m := must.Get(unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED|unix.MAP_POPULATE))(t)
	t.Cleanup(func() { must.Do(t, unix.Munmap(m)) })
}

// What another process has mapped and touched stays, and must not be taken for cold.
func TestMappedFilesAreNeverCold(t *testing.T) {
	sample := rawSample(t, 4096, 300, "a")
	mapped(t, string(sample.Files[0].Path))
	s := testSession(t, sample, Options{})
	possible, err := s.canBeCold(t.Context())
	if err != nil || possible || s.result.Cold.Reason == "" || s.result.Cold.CachedRatio == nil ||
		*s.result.Cold.CachedRatio < 0.8 {
		t.Errorf("cold: %+v, %v", s.result.Cold, err)
	}
}
