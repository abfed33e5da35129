package probe

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/must"
)

// resident reads a file, so that its pages are in the page cache.
func resident(t *testing.T, path string) (*os.File, int64) {
	t.Helper()
	must.Get(os.ReadFile(path))(t)
	f, size, err := dataset.OpenRegular(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f, size
}

func TestResidencyIsSeen(t *testing.T) {
	sample := rawSample(t, 4096, 300, "a")
	f, size := resident(t, string(sample.Files[0].Path))
	r := fileResidency(f, size, false)
	if r.How == "" || r.Pages != 300 || r.Cached != 300 {
		t.Errorf("after reading: %+v", r)
	}
	if got, err := mincore(f, size, 4096); err != nil || got != 300 {
		t.Errorf("mincore counts %d pages, %v", got, err)
	}
	r = fileResidency(f, size, true)
	if r.Cached != 0 || r.InMemory {
		t.Errorf("after dropping: %+v", r)
	}
	if got, err := mincore(f, size, 4096); err != nil || got != 0 {
		t.Errorf("mincore counts %d pages, %v", got, err)
	}
}

// What another process has mapped and touched stays, and must not be taken for cold.
func TestMappedPagesStay(t *testing.T) {
	sample := rawSample(t, 4096, 300, "a")
	f, size := resident(t, string(sample.Files[0].Path))
	m := must.Get(unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED|unix.MAP_POPULATE))(t)
	defer func() {
		if err := unix.Munmap(m); err != nil {
			t.Error(err)
		}
	}()
	if r := fileResidency(f, size, true); r.Cached < 250 {
		t.Errorf("%+v although the file is mapped", r)
	}
	s := testSession(t, sample, Options{})
	possible, err := s.canBeCold(t.Context())
	if err != nil || possible || s.result.Cold.Reason == "" || s.result.Cold.CachedRatio == nil ||
		*s.result.Cold.CachedRatio < 0.8 {
		t.Errorf("cold: %+v, %v", s.result.Cold, err)
	}
}

func TestWhatIsNoFileIsNotOpened(t *testing.T) {
	fifo := t.TempDir() + "/fifo"
	must.Do(t, unix.Mkfifo(fifo, 0o600))
	for _, path := range []string{fifo, "/dev/null", t.TempDir(), fifo + "-not-there"} {
		if f, _, err := dataset.OpenRegular(path, 0); err == nil {
			_ = f.Close()
			t.Errorf("%s is opened", path)
		}
	}
}

// Of a file of an overlay, as containers have them, cachestat counts no page whatever there is.
func TestOverlaysAreAskedThroughMincore(t *testing.T) {
	sample := rawSample(t, 4096, 300, "a")
	f, size := resident(t, string(sample.Files[0].Path))
	for kind, how := range map[int64]string{unix.OVERLAYFS_SUPER_MAGIC: "mincore", unix.FUSE_SUPER_MAGIC: "mincore"} {
		if r := cachedPages(f, size, kind); r.How != how || r.Cached != 300 {
			t.Errorf("%x: %+v", kind, r)
		}
	}
}
