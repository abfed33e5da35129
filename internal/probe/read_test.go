package probe

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/pkg/report"
)

// measured runs a probe by itself and returns what it found.
func measured(t *testing.T, sample dataset.Sample, o Options, probe string) Result {
	t.Helper()
	s := testSession(t, sample, o)
	for _, p := range probes {
		if p.name == probe {
			if err := p.run(t.Context(), s); err != nil {
				t.Fatalf("%s: %v, with %v", probe, err, s.result.Unread)
			}
		}
	}
	return s.result
}

// found returns the measurements of a metric with these labels among others, given as name=value.
func found(r Result, probe string, d metric.Desc, want ...string) (out []report.Measurement) {
	for _, m := range r.Rows.Measurements() {
		if m.Probe == probe && m.Metric == d.Name && !slices.ContainsFunc(want, func(label string) bool {
			name, value, _ := strings.Cut(label, "=")
			return m.Labels[name] != value
		}) {
			out = append(out, m)
		}
	}
	return out
}

// find returns the one measurement of a metric with just these labels.
func find(t *testing.T, r Result, probe string, d metric.Desc, want ...string) report.Metric {
	t.Helper()
	for _, m := range found(r, probe, d, want...) {
		if len(m.Labels) == len(want) {
			return m.Value
		}
	}
	t.Fatalf("no %s %s with %v; there are %+v", probe, d.Name, want, found(r, probe, d))
	return report.Metric{}
}

// warned sees that a warning says something.
func warned(t *testing.T, r Result, says string) {
	t.Helper()
	if !strings.Contains(strings.Join(r.Warnings, "\n"), says) {
		t.Errorf("warnings %q, none says %q", r.Warnings, says)
	}
}

// onlyUnread sees that one file alone is unread, for a reason that begins so.
func onlyUnread(t *testing.T, r Result, file, why string) {
	t.Helper()
	if u := r.Unread; len(u) != 1 || u[0].Count != 1 || !strings.HasSuffix(u[0].Example, file) ||
		!strings.HasPrefix(u[0].Reason, why) {
		t.Errorf("unread %+v, want %s: %s", u, file, why)
	}
}

func TestReadWarmAndCold(t *testing.T) {
	const block, blocks = 64 << 10, 64
	sample := rawSample(t, block, blocks, "a", "b")
	r := measured(t, sample, Options{Budget: 8 * time.Second, Seed: 1}, report.ProbeRead)
	if !r.Cold.Possible || r.Cold.How == "" || r.Cold.CachedRatio == nil || *r.Cold.CachedRatio > coldShare ||
		r.Cold.Reason != "" {
		t.Errorf("cold: %+v", r.Cold)
	}
	if len(r.Unread)+len(r.Abstained)+len(r.Warnings) > 0 {
		t.Errorf("unread %v, abstained %v, warnings %v", r.Unread, r.Abstained, r.Warnings)
	}
	if v := find(t, r, report.ProbeRead, metric.CachedRatio); v.Center < 0 || v.Center > 1 {
		t.Errorf("share cached as found: %v", v.Center)
	}
	for _, order := range []string{"order=random", "order=sequential"} {
		for _, cache := range []string{"cache=warm", "cache=cold"} {
			l := []string{order, cache, "handle=kept"}
			v := find(t, r, report.ProbeRead, metric.ItemTime, l...)
			rate := find(t, r, report.ProbeRead, metric.ItemRate, l...)
			if v.Center <= 0 || v.Confidence != 0.95 || v.Lo > v.Center || v.Hi < v.Center || v.Unit != "s" {
				t.Errorf("%v: item time %+v", l, v)
			}
			if got := v.Center * rate.Center; got < 0.99 || got > 1.01 {
				t.Errorf("%v: time times rate is %v", l, got)
			}
			if v := find(t, r, report.ProbeRead, metric.ItemBytes, l...); v.Center != block {
				t.Errorf("%v: %v bytes an item", l, v.Center)
			}
			if v := find(t, r, report.ProbeRead, metric.ItemCPU, l...); v.Center <= 0 {
				t.Errorf("%v: CPU time %v", l, v.Center)
			}
		}
	}
	warmStored := find(t, r, report.ProbeRead, metric.ItemStorage, "order=random", "cache=warm", "handle=kept")
	coldStored := find(t, r, report.ProbeRead, metric.ItemStorage, "order=random", "cache=cold", "handle=kept")
	if warmStored.Center > warmShare*block || coldStored.Center < 0.99*block || coldStored.Center > 4*block {
		t.Errorf("fetched from storage per item of %d bytes: %v warm, %v cold", block, warmStored.Center,
			coldStored.Center)
	}
	if v := find(t, r, report.ProbeRead, metric.Amplification, "order=random", "cache=warm",
		"handle=kept"); v.Center < 0.999 || v.Center > 1.001 {
		t.Errorf("plain reads, through system calls: amplification %v", v.Center)
	}
	if v := find(t, r, report.ProbeRead, metric.CachedRatio, "order=random", "cache=cold",
		"handle=kept"); v.Center > coldShare {
		t.Errorf("cached before cold reads: %v", v.Center)
	}
}

func TestReadOfFilesThatAreItems(t *testing.T) {
	sample := fileEach(t, 20)
	r := measured(t, sample, Options{Budget: 4 * time.Second}, report.ProbeRead)
	find(t, r, report.ProbeRead, metric.ItemTime, "order=random", "cache=warm") // no label handle: there is no choice
	find(t, r, report.ProbeRead, metric.ItemTime, "order=sequential", "cache=cold")
}

// fileEach is a sample of files that are one item each. What is in them does not matter: nothing is decoded.
func fileEach(t *testing.T, n int) dataset.Sample {
	t.Helper()
	var names []string
	for i := range n {
		names = append(names, "picture"+string(rune('a'+i)))
	}
	sample := rawSample(t, 5000, 1, names...)
	sample.Source = dataset.Source{Kind: dataset.Image, Format: "jpeg"}
	return sample
}

func TestReadWithoutCold(t *testing.T) {
	sample := rawSample(t, 4096, 64, "a")
	r := measured(t, sample, Options{Budget: 500 * time.Millisecond, NoCold: true}, report.ProbeRead)
	if r.Cold.Possible || r.Cold.Reason == "" {
		t.Errorf("cold: %+v", r.Cold)
	}
	for _, m := range r.Rows.Measurements() {
		if m.Labels[report.LabelCache] == cachesDropped {
			t.Errorf("measured %v", m)
		}
	}
}

func TestFilesInMemoryAreNeverCold(t *testing.T) {
	folder := must.Get(os.MkdirTemp("/dev/shm", "pipetune-probe-"))(t)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	path := filepath.Join(folder, "a")
	must.Do(t, os.WriteFile(path, make([]byte, 64<<10), 0o600))
	sample := rawBytes(4096, path)
	for i := range 16 {
		sample.Items = append(sample.Items, dataset.Ref{Index: int64(i)})
	}
	r := measured(t, sample, Options{Budget: 4 * time.Second}, report.ProbeRead)
	if r.Cold.Possible || r.Cold.CachedRatio != nil || !strings.Contains(r.Cold.Reason, "tmpfs") {
		t.Errorf("cold: %+v", r.Cold)
	}
	find(t, r, report.ProbeRead, metric.ItemTime, "order=random", "cache=warm", "handle=kept")
}

func TestReadOfNothingReadable(t *testing.T) {
	sample := rawSample(t, 4096, 8, "gone")
	must.Do(t, os.Remove(string(sample.Files[0].Path)))
	s := testSession(t, sample, Options{Budget: time.Second})
	if err := read(t.Context(), s); err == nil || !strings.Contains(err.Error(), string(dataset.Vanished)) {
		t.Errorf("reading a dataset that is gone: %v", err)
	}
}

func TestCrashIsBlamedOnItsFile(t *testing.T) {
	sample := rawSample(t, 4096, 16, "a", "b", "crash", "c", "d")
	r := measured(t, sample, Options{Budget: 500 * time.Millisecond, NoCold: true}, report.ProbeRead)
	onlyUnread(t, r, "/crash", string(dataset.Crashed))
	find(t, r, report.ProbeRead, metric.ItemTime, "order=sequential", "cache=warm", "handle=kept")
}

func TestCrashAtAnItemOfTheOnlyFile(t *testing.T) {
	sample := rawSample(t, 4096, 24, "unlucky")
	s := testSession(t, sample, Options{Budget: 500 * time.Millisecond, NoCold: true})
	must.Do(t, read(t.Context(), s))
	if u := s.result.Unread; len(u) != 1 || u[0].Count != 1 || filepath.Base(u[0].Example) != "unlucky" ||
		!strings.Contains(u[0].Reason, "item 13") {
		t.Errorf("unread: %+v", u)
	}
	if good := s.sound(&s.sample, all(sample)); len(good) != 23 || slices.Contains(good, 13) {
		t.Errorf("still read: %v", good)
	}
}

func TestOpen(t *testing.T) {
	sample := rawSample(t, 4096, 4, "a", "b", "gone", "crash")
	must.Do(t, os.Remove(string(sample.Files[2].Path)))
	r := measured(t, sample, Options{Budget: 5 * time.Second}, report.ProbeOpen)
	if v := find(t, r, report.ProbeOpen, metric.OpenTime, "cache=warm"); v.Center <= 0 || v.Confidence != 0.95 {
		t.Errorf("warm: %+v", v)
	}
	if len(r.Unread) != 2 {
		t.Errorf("unread: %+v", r.Unread)
	}
}

func TestTooSmallABudgetIsSaid(t *testing.T) {
	sample := rawSample(t, 4096, 64, "a")
	r := measured(t, sample, Options{Budget: time.Millisecond, NoCold: true}, report.ProbeRead)
	v := find(t, r, report.ProbeRead, metric.ItemTime, "order=random", "cache=warm", "handle=kept")
	if v.Confidence != 0 || v.Center <= 0 || v.Lo != v.Center {
		t.Errorf("with a budget of 1 ms: %+v", v)
	}
	said := 0
	for _, w := range r.Warnings {
		if strings.Contains(w, "--budget 1m0s") &&
			strings.Contains(w, "fewer than six rounds for random reads, warm; sequential reads, warm") {
			said++
		}
	}
	if said != 1 {
		t.Errorf("warnings: %v", r.Warnings)
	}
}

// A file that vanishes and one that shrinks between two measurements, as under a dataset that is being rewritten.
func TestFilesThatChangeMidway(t *testing.T) {
	sample := rawSample(t, 4096, 16, "a", "vanishes", "shrinks")
	s := testSession(t, sample, Options{NoCold: true})
	w := way{probe: report.ProbeRead, what: "reads", items: all(sample), handle: handleReopened}
	if r, err := s.measure(t.Context(), w, begin(s.clock, 100*time.Millisecond)); err != nil || r.time.N == 0 ||
		len(s.result.Unread) > 0 {
		t.Fatalf("%+v, %v, %v", r.time, err, s.result.Unread)
	}
	must.Do(t, os.Remove(string(sample.Files[1].Path)))
	must.Do(t, os.Truncate(string(sample.Files[2].Path), 5*4096))
	r, err := s.measure(t.Context(), w, begin(s.clock, 100*time.Millisecond))
	if err != nil || r.time.N == 0 {
		t.Fatalf("%+v, %v", r.time, err)
	}
	for _, want := range []struct {
		name string
		why  dataset.Trouble
	}{{"vanishes", dataset.Vanished}, {"shrinks", dataset.Shrunken}} {
		if !slices.ContainsFunc(s.result.Unread, func(u report.Unread) bool {
			return u.Count == 1 && filepath.Base(u.Example) == want.name && strings.HasPrefix(u.Reason,
				string(want.why)) && !strings.Contains(u.Reason, "/")
		}) || len(s.result.Unread) != 2 {
			t.Errorf("unread: %+v, want %s", s.result.Unread, want.name)
		}
	}
	if good := s.sound(&s.sample, all(sample)); len(good) != 16+5 {
		t.Errorf("%d items are still read", len(good))
	}
}
