package probe

import (
	"bytes"
	"crypto/sha256"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/pkg/report"
)

// written makes a file of random bytes, on disk and not in the page cache alone.
func written(t *testing.T, path string, size int) []byte {
	t.Helper()
	data := make([]byte, size)
	rng := rand.NewChaCha8([32]byte{1})
	_, _ = rng.Read(data)
	f := must.Get(os.Create(path))(t)
	defer f.Close()
	must.Get(f.Write(data))(t)
	must.Do(t, f.Sync())
	return data
}

// rawBytes is a sample of files of raw bytes.
func rawBytes(block int64, paths ...string) dataset.Sample {
	s := dataset.Sample{Source: dataset.Source{Kind: dataset.Other, BlockBytes: block}}
	for _, p := range paths {
		f := dataset.File{Path: []byte(p), Bytes: 1 << 20} // what a missing one had
		if info, err := os.Stat(p); err == nil && info.Mode().IsRegular() {
			f.Bytes = info.Size()
		}
		s.Files = append(s.Files, f)
	}
	return s
}

// deviceFigures runs the probe for a moment.
func deviceFigures(t *testing.T, sample dataset.Sample) Result {
	t.Helper()
	s := newSession(newRunner(t), sample, Options{})
	s.time = begin(s.clock, time.Second)
	must.Do(t, device(t.Context(), s))
	return s.result
}

func TestDevice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	data := written(t, path, 8<<20+123)
	missing, pipe := path+"-missing", path+"-pipe"
	must.Do(t, unix.Mkfifo(pipe, 0o600))
	got := deviceFigures(t, rawBytes(10_000, path, missing, pipe))
	seen := map[string]float64{}
	for _, m := range got.Rows.Measurements() {
		if m.Value.Center <= 0 || m.Value.Lo > m.Value.Center || m.Value.Hi < m.Value.Center || m.Value.N < 1 {
			t.Errorf("%s %v: %+v", m.Metric, m.Labels, m.Value)
		}
		seen[strings.Join([]string{m.Metric, m.Labels[report.LabelOrder], m.Labels[report.LabelDepth],
			m.Labels[report.LabelBlock]}, " ")] = m.Value.Center
	}
	for _, want := range []string{
		"reads_per_s random 1 12288", "bytes_per_s random 1 12288", "read_time_s random 1 12288",
		"reads_per_s random 4 12288", "reads_per_s sequential 1 1048576", "bytes_per_s sequential 4 1048576",
	} {
		if seen[want] == 0 {
			t.Errorf("no %q among %v", want, seen)
		}
	}
	if rate := seen["bytes_per_s random 1 12288"] / seen["reads_per_s random 1 12288"]; rate < 12287 || rate > 12289 {
		t.Errorf("%v bytes a read of a block of 12288", rate)
	}
	if !strings.Contains(strings.Join(got.Warnings, "\n"), "device:") {
		t.Errorf("8 MiB read again and again, and nothing said: %q", got.Warnings)
	}
	if len(got.Unread) != 2 {
		t.Errorf("a missing file and a FIFO give %+v", got.Unread)
	}
	if after, err := os.ReadFile(path); err != nil || sha256.Sum256(after) != sha256.Sum256(data) {
		t.Errorf("the file changed: %v", err)
	}
}

// TestDeviceInMemory: a tmpfs takes direct reads since Linux 6.6 and refuses them before; either way they are no
// storage's.
func TestDeviceInMemory(t *testing.T) {
	dir := must.Get(os.MkdirTemp("/dev/shm", "pipetune-test-"))(t)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "data")
	written(t, path, 4<<20)
	got := deviceFigures(t, rawBytes(0, path))
	if len(got.Rows.Measurements()) == 0 {
		t.Fatal("nothing was measured")
	}
	for _, m := range got.Rows.Measurements() {
		if m.Labels[report.LabelMode] != modePageCache {
			t.Errorf("%s %v on a tmpfs", m.Metric, m.Labels)
		}
	}
	if len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "in memory") && !strings.Contains(got.Warnings[0],
		"cache") {
		t.Errorf("warnings %q", got.Warnings)
	}
}

func TestDeviceWholeFiles(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for _, size := range []int{700, 5000, 9000, 12288, 100} {
		paths = append(paths, filepath.Join(dir, string(rune('a'+len(paths)))))
		written(t, paths[len(paths)-1], size)
	}
	sample := rawBytes(0, paths...)
	sample.Kind = dataset.Image
	b := extentsOf(t, sample, direct{Whole: true, Block: 12288, Depth: 2, Seconds: 0.05})
	out := must.Get(b.read(t.Context(), newState(sample, dataset.Source.Open)))(t)
	if out.Refused {
		t.Fatalf("no direct reads below %s: set TMPDIR to a disk", dir)
	}
	if out.Blocks != 5 || out.Bytes != 27088 || len(out.Failures) != 0 {
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

// extentsOf opens a sample's files as the work does.
func extentsOf(t *testing.T, sample dataset.Sample, q direct) *extents {
	t.Helper()
	b := &extents{direct: q, align: minAlign}
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
	sample := rawBytes(0, path)
	b := extentsOf(t, sample, direct{Buffered: true, Block: 4096, Depth: 3, Seconds: 60})
	out := must.Get(b.read(t.Context(), newState(sample, dataset.Source.Open)))(t)
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
	sample := rawBytes(0, paths...)
	b := extentsOf(t, sample, direct{Buffered: true, Block: 4096, Depth: 1, Seconds: 60})
	must.Do(t, os.Truncate(paths[0], 4096))
	out := must.Get(b.read(t.Context(), newState(sample, dataset.Source.Open)))(t)
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

func TestClimb(t *testing.T) {
	for _, tc := range []struct {
		name  string
		rates []float64
		stops int // after so many; 0: never
	}{
		{"doubling", []float64{1, 2, 4, 8}, 0},
		{"two that bring nothing", []float64{100, 104, 104, 300}, 3},
		{"one that brings nothing", []float64{100, 90, 150, 155, 200}, 0},
		{"falling", []float64{100, 50, 25}, 3},
		{"creeping", []float64{100, 104, 108, 112}, 3},
	} {
		var c depthSearch
		stopped := 0
		for i, r := range tc.rates {
			if c.over(r) {
				stopped = i + 1
				break
			}
		}
		if stopped != tc.stops {
			t.Errorf("%s: stopped after %d, want %d", tc.name, stopped, tc.stops)
		}
	}
}
