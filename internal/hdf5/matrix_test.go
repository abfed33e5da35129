package hdf5

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/must"
)

// generate runs a script of testdata that writes into a folder.
func generate(t testing.TB, script string, arguments ...string) string {
	t.Helper()
	folder := t.TempDir()
	must.Python(t, append([]string{filepath.Join("testdata", script), folder}, arguments...)...)
	return folder
}

// expected is what h5py reads of one dataset; see make_matrix.py.
type expected struct {
	Refused bool
	Items   []struct {
		Index  int64
		SHA256 string
	}
	Blocks []struct {
		Start, Count []int64
		SHA256       string
	}
	Batches []struct {
		Indices []int64
		SHA256  string
	}
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// matrix generates the files once, and says what h5py reads from them.
func matrix(t *testing.T) (folder string, files map[string]map[string]expected) {
	t.Helper()
	folder = generate(t, "make_matrix.py")
	raw := must.Get(os.ReadFile(filepath.Join(folder, "matrix.json")))(t)
	must.Do(t, json.Unmarshal(raw, &files))
	return folder, files
}

// counts of what was compared.
type counts struct{ items, blocks, batches int }

// compare holds a reader against what h5py read, and a sweep that grows by what was read.
func (n *counts) compare(t *testing.T, name string, r *Reader, want expected) {
	t.Helper()
	var buf []byte
	check := func(what string, which any, got []byte, err error, sum string) {
		if err != nil || digest(got) != sum {
			t.Errorf("%s: %s, %s %v: %d bytes, %v, other than h5py's", name, r.Dataset().Path, what, which, len(got),
				err)
		}
		buf = got[:cap(got)]
	}
	var s Sweep
	sweep := func(what string, which any, refused error, sum string) {
		done, _, got, err := s.Read(buf, make([]time.Duration, s.Len()), time.Hour)
		if done != s.Len() || refused != nil {
			t.Errorf("%s: %s, %s %v of a sweep: %d of %d are read, %v, %v", name, r.Dataset().Path, what, which, done,
				s.Len(), refused, err)
		}
		check(what+" of a sweep", which, got, err, sum)
	}
	for _, w := range want.Items {
		got, err := r.Item(w.Index, buf)
		check("item", w.Index, got, err, w.SHA256)
		sweep("item", w.Index, s.Item(r, w.Index), w.SHA256)
		n.items++
	}
	for _, w := range want.Blocks {
		got, err := r.Block(w.Start, w.Count, buf)
		check("block", w.Start, got, err, w.SHA256)
		sweep("block", w.Start, s.Block(r, w.Start, w.Count), w.SHA256)
		n.blocks++
	}
	for _, w := range want.Batches {
		got, err := r.Items(w.Indices, buf)
		check("batch", w.Indices, got, err, w.SHA256)
		n.batches++
	}
}

func TestReader(t *testing.T) {
	folder, files := matrix(t)
	t.Run("delivers what h5py delivers", func(t *testing.T) { everyLayoutFilterAndType(t, folder, files) })
	t.Run("leaves the file only when told to", func(t *testing.T) { outside(t, folder, files["outside.h5"]) })
	t.Run("believes no size", func(t *testing.T) { large(t, folder) })
	t.Run("opens again and again", func(t *testing.T) { reopen(t, filepath.Join(folder, "matrix_v108.h5")) })
	t.Run("locks only when told to", func(t *testing.T) { locks(t, filepath.Join(folder, "matrix_v108.h5")) })
}

// The matrix is every layout by filter by type, written in three versions of the format, one of them behind a user
// block.
func everyLayoutFilterAndType(t *testing.T, folder string, files map[string]map[string]expected) {
	var datasets, refused, chunks int
	var n counts
	for name, found := range files {
		if name == "outside.h5" {
			continue
		}
		for path, want := range found {
			r, err := OpenReader(filepath.Join(folder, name), ReaderOptions{Dataset: path})
			if want.Refused {
				refused++
				if err == nil {
					t.Errorf("%s: %s was opened", name, path)
					r.Close()
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			datasets++
			n.compare(t, name, r, want)
			chunks += rawChunks(t, filepath.Join(folder, name), r)
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	t.Logf("%d datasets, %d refused; %d items, %d blocks, %d batches, %d raw chunks compared", datasets, refused,
		n.items, n.blocks, n.batches, chunks)
	if datasets < 2796 || refused < 42 || n.items < 7857 || n.blocks < 8379 || n.batches < 7857 || chunks < 10707 {
		t.Error("fewer than were generated when this was written")
	}
}

// rawChunks compares the chunks as they are stored with the bytes at the place where they lie in the file.
func rawChunks(t *testing.T, path string, r *Reader) (compared int) {
	t.Helper()
	d := r.Dataset()
	if d.Storage != Chunked || len(d.Shape) == 0 || d.Shape[0] == 0 {
		return 0
	}
	f := must.Get(os.Open(path))(t)
	defer f.Close()
	var total int64
	for i := int64(0); i < d.Shape[0]; i += d.Chunk[0] {
		coord := make([]int64, len(d.Shape))
		coord[0] = i
		raw, err := r.RawChunk(coord, nil)
		at, size, err2 := r.ChunkPlace(coord)
		if errors.Is(err, ErrNoChunk) && errors.Is(err2, ErrNoChunk) {
			continue
		}
		there := make([]byte, len(raw))
		_, err3 := f.ReadAt(there, at)
		if err != nil || err2 != nil || err3 != nil || size != int64(len(raw)) || string(there) != string(raw) {
			t.Errorf("%s: the chunk at %v: %d bytes, %v; %d bytes at %d, %v; %v", d.Path, coord, len(raw), err, size,
				at, err2, err3)
		}
		total += size
		compared++
	}
	count := append([]int64{}, d.Shape...)
	chunks, stored, _, err := r.RawBlock(make([]int64, len(count)), count, nil)
	if err != nil || chunks < int64(compared) || stored < total || len(count) == 1 && stored != total {
		t.Errorf("%s: %d chunks of %d bytes in all, %v; %d of %d along the first axis", d.Path, chunks, stored, err,
			compared, total)
	}
	return compared
}
