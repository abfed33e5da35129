package probe

import (
	"crypto/sha256"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/benchmark"
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
	s := testSession(t, sample, Options{Budget: time.Second})
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
	warned(t, got, "device:") // 8 MiB were read again and again
	if len(got.Unread) != 2 {
		t.Errorf("a missing file and a FIFO give %+v", got.Unread)
	}
	if after, err := os.ReadFile(path); err != nil || sha256.Sum256(after) != sha256.Sum256(data) {
		t.Errorf("the file changed: %v", err)
	}
}

// TestDeviceInMemory: whether a tmpfs takes direct reads (since Linux 6.6) or not, they are no storage's.
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
		if m.Labels[report.LabelMode] != benchmark.PageCache {
			t.Errorf("%s %v on a tmpfs", m.Metric, m.Labels)
		}
	}
	if len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "in memory") && !strings.Contains(got.Warnings[0],
		"cache") {
		t.Errorf("warnings %q", got.Warnings)
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
