package storage

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/must"
)

// written makes a file of random bytes and returns them.
func written(t *testing.T, path string, size int) []byte {
	t.Helper()
	data := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(data)
	must.Do(t, os.WriteFile(path, data, 0o600))
	return data
}

// sampleOf is a sample of files.
func sampleOf(paths ...string) *dataset.Sample {
	s := &dataset.Sample{}
	for _, path := range paths {
		s.Files = append(s.Files, dataset.File{Path: []byte(path)})
	}
	return s
}

func TestWholeFilesAreRead(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for _, size := range []int{700, 5000, 9000, 12288, 100} {
		paths = append(paths, filepath.Join(dir, string(rune('a'+len(paths)))))
		written(t, paths[len(paths)-1], size)
	}
	sample := sampleOf(paths...)
	b := extentsOf(t, sample, Request{Whole: true, Block: 12288, Depth: 2, Seconds: 0.05})
	out := must.Get(b.read(t.Context(), sample))(t)
	if out.Refused {
		t.Fatalf("no direct reads below %s: set TMPDIR to a disk", dir)
	}
	if b.total != 5 || out.Bytes != 27088 || len(out.Failures) != 0 {
		t.Errorf("%+v", out)
	}
	reads, bytes := 0, int64(0)
	for _, s := range out.Slices {
		reads, bytes = reads+s.Reads, bytes+s.Bytes
	}
	if mean := float64(bytes) / float64(reads); mean < 4000 || mean > 7000 {
		t.Errorf("%.0f bytes a read, of files of 5418 on average", mean)
	}
}

// extentsOf opens a sample's files as Read does.
func extentsOf(t *testing.T, sample *dataset.Sample, q Request) *extents {
	t.Helper()
	b := &extents{Request: q, align: minAlign}
	t.Cleanup(b.close)
	for i, f := range sample.Files {
		b.Files = append(b.Files, i)
		must.Do(t, b.add(f, i))
	}
	return b
}

func TestBufferedReadsEachBlockOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	written(t, path, 40*4096+7)
	sample := sampleOf(path)
	b := extentsOf(t, sample, Request{Buffered: true, Block: 4096, Depth: 3, Seconds: 60})
	out := must.Get(b.read(t.Context(), sample))(t)
	if len(out.Slices) != 1 || out.Slices[0].Reads != 40 || out.Slices[0].Bytes != 40*4096 || out.Next != 40 {
		t.Errorf("%+v", out)
	}
}

func TestShrunkenWhileRead(t *testing.T) {
	dir := t.TempDir()
	paths := []string{filepath.Join(dir, "shrinks"), filepath.Join(dir, "stays")}
	for _, p := range paths {
		written(t, p, 4*4096)
	}
	sample := sampleOf(paths...)
	b := extentsOf(t, sample, Request{Buffered: true, Block: 4096, Depth: 1, Seconds: 60})
	must.Do(t, os.Truncate(paths[0], 4096))
	out := must.Get(b.read(t.Context(), sample))(t)
	if len(out.Failures) != 1 || out.Failures[0].File != 0 || out.Failures[0].Class != dataset.Shrunken ||
		out.Slices[0].Reads != 5 {
		t.Errorf("%+v", out)
	}
}

// TestQueue holds the requests as this file lays them out against the kernel's reading of them.
func TestQueue(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	data := written(t, path, 8*4096)
	f := must.Get(os.Open(path))(t)
	defer f.Close()
	q := must.Get(newQueue(8))(t)
	defer q.close()
	memory := make([]byte, 8*4096)
	for slot := range 8 {
		q.put(slot, block{offset: int64(7-slot) * 4096, length: 4096}, int(f.Fd()), memory[slot*4096:])
	}
	must.Do(t, q.submit(time.Now()))
	for q.flying > 0 {
		events := must.Get(q.wait())(t)
		for _, e := range events {
			slot := int(e.data)
			if e.result != 4096 || !bytes.Equal(memory[slot*4096:(slot+1)*4096], data[(7-slot)*4096:(8-slot)*4096]) {
				t.Errorf("slot %d: %d bytes, or not those of the file", slot, e.result)
			}
		}
	}
}

func TestScrambleIsAPermutation(t *testing.T) {
	for _, total := range []int64{1, 2, 3, 17, 64, 1000} {
		for _, seed := range []uint64{0, 1, 1 << 63} {
			var got []int64
			for n := range total {
				got = append(got, scramble(n, total, seed))
			}
			inOrder := slices.IsSorted(got)
			slices.Sort(got)
			for n := range total {
				if got[n] != n {
					t.Fatalf("of %d, seed %d: %v", total, seed, got)
				}
			}
			if total >= 17 && inOrder {
				t.Errorf("of %d, seed %d: not shuffled", total, seed)
			}
		}
	}
}
