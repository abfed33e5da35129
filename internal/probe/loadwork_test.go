package probe

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/procfs"
)

// rawSample writes files of blocks, on a disk, and returns the sample of all of them.
func rawSample(t testing.TB, blockBytes int64, blocks int, names ...string) dataset.Sample {
	t.Helper()
	folder := onDisk(t)
	s := dataset.Sample{Source: dataset.Source{Kind: dataset.Other, BlockBytes: blockBytes}}
	for i, name := range names {
		path := filepath.Join(folder, name)
		content := make([]byte, blockBytes*int64(blocks))
		for j := range content {
			content[j] = byte(j*7 + i)
		}
		must.Do(t, os.WriteFile(path, content, 0o600))
		s.Files = append(s.Files, dataset.File{Path: []byte(path), Bytes: int64(len(content))})
		for j := range blocks {
			s.Items = append(s.Items, dataset.Ref{File: i, Index: int64(j)})
		}
	}
	return s
}

// onDisk is a folder that does not lie in memory, as /tmp may.
func onDisk(t testing.TB) string {
	t.Helper()
	folder := must.Get(os.MkdirTemp("/var/tmp", "pipetune-probe-"))(t)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	return folder
}

func all(s dataset.Sample) []int { return inOrder(&s, sequential, 0) }

func testSession(t testing.TB, s dataset.Sample, o Options) *session {
	t.Helper()
	if o.Budget == 0 {
		o.Budget = 5 * time.Second
	}
	n := newSession(newRunner(t), s, o)
	n.time = begin(time.Now, o.Budget)
	return n
}

func askLoad(t testing.TB, s *session, q load) loaded {
	t.Helper()
	p := s.process(&s.sample, time.Minute)
	defer p.close()
	return must.Get(loadWork.ask(t.Context(), p, q))(t)
}

func TestLoadCounts(t *testing.T) {
	const block, blocks = 8192, 40
	sample := rawSample(t, block, blocks, "a", "b")
	s := testSession(t, sample, Options{})
	for _, handle := range []string{handleKept, handleReopened} {
		out := askLoad(t, s, load{Items: all(sample), Handle: handle})
		p := out.Pass
		if out.Next != 0 || len(out.Failures) != 0 {
			t.Fatalf("%s: %+v", handle, out)
		}
		if p.Items != 2*blocks || p.Bytes != 2*blocks*block || p.Seconds <= 0 || p.IO == nil {
			t.Fatalf("%s: a pass of %+v", handle, p)
		}
		if p.IO.Asked != p.Bytes {
			t.Errorf("%s: the kernel counts %+v for %d bytes in %d items", handle, *p.IO, p.Bytes, p.Items)
		}
		if n := len(out.Times); n == 0 || n > mostTimes {
			t.Errorf("%s: %d times of single items", handle, n)
		}
	}
}

func TestLoadGoesRoundUntilTheTimeIsUp(t *testing.T) {
	sample := rawSample(t, 4096, 10, "a")
	s := testSession(t, sample, Options{})
	out := askLoad(t, s, load{Items: []int{3, 1, 2}, From: 1, Seconds: 0.02})
	p := out.Pass
	if p.Items <= 3 || p.Seconds < 0.015 {
		t.Errorf("a pass of 20 ms read %d items in %v s", p.Items, p.Seconds)
	}
	if want := (1 + p.Items) % 3; out.Next != want {
		t.Errorf("stopped at %d, read %d from 1 on: want %d", out.Next, p.Items, want)
	}
	if out := askLoad(t, s, load{Items: []int{3, 1, 2}, Seconds: 10, Once: true}); out.Pass.Items != 3 {
		t.Errorf("once round gives %d items", out.Pass.Items)
	}
}

func TestLoadCountsFailures(t *testing.T) {
	const block = 4096
	sample := rawSample(t, block, 8, "good", "gone", "short")
	must.Do(t, os.Remove(string(sample.Files[1].Path)))
	must.Do(t, os.Truncate(string(sample.Files[2].Path), 3*block))
	s := testSession(t, sample, Options{})
	out := askLoad(t, s, load{Items: all(sample)})
	classes := map[dataset.Trouble]int{}
	for _, f := range out.Failures {
		classes[f.Class]++
	}
	if len(out.Failures) != 8+5 || classes[dataset.Vanished] != 8 || classes[dataset.Shrunken] != 5 {
		t.Errorf("failures: %v", out.Failures)
	}
	if p := out.Pass; p.Items != 11 || p.Bytes != 11*block {
		t.Errorf("of 11 good items, which those that cannot be read do not take along: %+v", p)
	}
	out = askLoad(t, s, load{Items: []int{8, 9}, Seconds: 5})
	if len(out.Failures) != 2 || out.Pass.Items != 0 {
		t.Errorf("nothing but failures: %+v", out)
	}
}

func TestLoadWaitsForItsStart(t *testing.T) {
	sample := rawSample(t, 4096, 4, "a")
	w := newState(sample, openForTests)
	defer w.Forget()
	at := procfs.Monotonic() + 30*time.Millisecond
	must.Get(w.load(t.Context(), load{Items: []int{0}, StartAt: at}))(t)
	now := procfs.Monotonic()
	if now < at {
		t.Errorf("it ended %v before its start", at-now)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.load(ctx, load{Items: []int{0}, StartAt: now + time.Second}); err == nil {
		t.Error("it waits although it was asked to go")
	}
	if _, err := w.load(t.Context(), load{Items: []int{0}, StartAt: now + time.Hour}); err == nil {
		t.Error("it would wait for an hour")
	}
}

func TestLoadRefusesItemsThatAreNotThere(t *testing.T) {
	sample := rawSample(t, 4096, 4, "a")
	s := testSession(t, sample, Options{})
	p := s.process(&s.sample, time.Minute)
	defer p.close()
	for _, items := range [][]int{nil, {4}, {-1}} {
		if _, err := loadWork.ask(t.Context(), p, load{Items: items}); err == nil {
			t.Errorf("items %v are read", items)
		}
	}
}

func TestStride(t *testing.T) {
	for _, c := range []struct {
		item, clock float64
		want        int
	}{{10e-6, 30e-9, 1}, {3e-6, 30e-9, 4}, {0, 30e-9, 64}, {10e-6, 1e-6, 40}, {1e-3, 1e-6, 1}} {
		if got := strideFor(c.item, c.clock); got != c.want {
			t.Errorf("items of %v s and looks of %v s: %d, want %d", c.item, c.clock, got, c.want)
		}
	}
}

// BenchmarkClock compares the loop with the same reads without it: what measuring adds to items of some 10 µs.
func BenchmarkClock(b *testing.B) {
	sample := rawSample(b, 64<<10, 256, "a")
	w := newState(sample, openForTests)
	defer w.Forget()
	items := all(sample)
	must.Get(w.load(b.Context(), load{Items: items}))(b)
	b.Run("bare", func(b *testing.B) {
		h := w.Handles[0]
		for i := range b.N {
			must.Get(h.Read(sample.Items[i%256], w.Buf))(b)
		}
	})
	b.Run("measured", func(b *testing.B) {
		must.Get(w.load(b.Context(), load{Items: slices.Repeat(items, (b.N+255)/256)}))(b)
	})
}

// One item that cannot be read takes none with it, however many are read for one look at the clock.
func TestLoadKeepsTheGoodOnesBesideABadOne(t *testing.T) {
	const block, items = 4096, 200
	sample := rawSample(t, block, items, "a")
	sample.Items[100].Index = 1 << 40 // far beyond the end
	w := newState(sample, openForTests)
	defer w.Forget()
	for _, q := range []load{{Items: all(sample)}, {Items: all(sample), From: 90},
		{Items: all(sample), Once: true, Seconds: 60}} {
		for _, clock := range []float64{0, 1e-6, 1} {
			l := loading{state: w, load: q, at: q.From, stride: 1, failed: map[int]bool{}, clock: clock}
			l.pass(t.Context())
			if p := l.out.Pass; p.Items != items-1 || p.Bytes != (items-1)*block || p.Seconds <= 0 {
				t.Errorf("looks of %v s, from %d on: %+v", clock, q.From, p)
			}
			if len(l.out.Failures) != 1 || l.out.Failures[0].Item != 100 {
				t.Errorf("looks of %v s: %+v", clock, l.out.Failures)
			}
		}
	}
}
