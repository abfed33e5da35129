package storage

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/must"
)

// resident opens a file of 300 pages that does not lie in memory, as /tmp may, and is in the page cache.
func resident(t *testing.T) (path string, f *os.File, size int64) {
	t.Helper()
	folder := must.Get(os.MkdirTemp("/var/tmp", "pipetune-storage-"))(t)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	path = filepath.Join(folder, "a")
	written(t, path, 300*4096)
	must.Get(os.ReadFile(path))(t)
	f, size, err := dataset.OpenRegular(path, 0)
	must.Do(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return path, f, size
}

func TestResidencyIsSeen(t *testing.T) {
	path, f, size := resident(t)
	r := fileResidency(f, size, false)
	if r.How == "" || r.Pages != 300 || r.Cached != 300 {
		t.Errorf("after reading: %+v", r)
	}
	if got, err := mincore(f, size, 4096); err != nil || got != 300 {
		t.Errorf("mincore counts %d pages, %v", got, err)
	}
	if r = Resident(sampleOf(path), []int{0}, true); r.How == "" || r.Cached != 0 || *r.Ratio() != 0 {
		t.Errorf("after dropping: %+v", r)
	}
	if got, err := mincore(f, size, 4096); err != nil || got != 0 {
		t.Errorf("mincore counts %d pages, %v", got, err)
	}
}

// TestResidencyIsUnknown: of files that cannot be opened, that lie in memory, or that may not be all.
func TestResidencyIsUnknown(t *testing.T) {
	path, _, _ := resident(t)
	memory := must.Get(os.CreateTemp("/dev/shm", "pipetune-storage-"))(t)
	t.Cleanup(func() { _ = os.Remove(memory.Name()) })
	must.Do(t, memory.Close())
	unsure := sampleOf(path)
	unsure.Files[0].Unsure = "a source could not be opened"
	for name, sample := range map[string]*dataset.Sample{"missing": sampleOf(path + "-missing"),
		"in memory": sampleOf(path, memory.Name()), "unsure": unsure} {
		if r := Resident(sample, []int{0, 1}, false); r.How != "" || r.Reason == "" || r.Ratio() != nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// Of a file of an overlay, as containers have them, cachestat counts no page whatever there is.
func TestOverlaysAreAskedThroughMincore(t *testing.T) {
	_, f, size := resident(t)
	for kind, how := range map[int64]string{unix.OVERLAYFS_SUPER_MAGIC: "mincore", unix.FUSE_SUPER_MAGIC: "mincore"} {
		if r := cachedPages(f, size, kind); r.How != how || r.Cached != 300 {
			t.Errorf("%x: %+v", kind, r)
		}
	}
}
