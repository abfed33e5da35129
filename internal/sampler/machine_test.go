package sampler

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/recording"
)

// note is one call of Sink.Unseen.
type note struct{ signal, entity, reason, cure string }

// book is a Sink that keeps the last value and the number of readings of each series.
type book struct {
	last   map[string]float64 // "metric entity"
	counts map[string]int     // likewise
	events []string
	// loaders are the numbers of those that workers were said to be of, by the workers' entities
	loaders map[string]string
	unseen  []note
}

func newBook() *book {
	return &book{last: make(map[string]float64), counts: make(map[string]int), loaders: make(map[string]string)}
}

func (b *book) Add(d metric.Desc, entity string, v float64) {
	b.last[d.Name+" "+entity] = v
	b.counts[d.Name+" "+entity]++
}
func (b *book) Event(kind, entity string, attrs map[string]string) {
	b.events = append(b.events, kind+" "+entity)
	if kind == recording.EventWorkerOf {
		b.loaders[entity] = attrs["loader"]
	}
}
func (b *book) Unseen(signal, entity, reason, cure string) {
	b.unseen = append(b.unseen, note{signal, entity, reason, cure})
}

func (b *book) names() []string { return slices.Sorted(maps.Keys(b.last)) }

// get fails the test where a series has no value.
func (b *book) get(t *testing.T, d metric.Desc, entity string) float64 {
	t.Helper()
	v, ok := b.last[d.Name+" "+entity]
	if !ok {
		t.Errorf("%s of %s was not recorded; notes: %v", d.Name, entity, b.unseen)
	}
	return v
}

// self is this test's own process.
func self(t testing.TB) procfs.ID { return idOf(t, procfs.FS{}, os.Getpid()) }

func idOf(t testing.TB, fs procfs.FS, pid int) procfs.ID {
	t.Helper()
	p := must.Get(fs.Open(pid))(t)
	defer p.Close()
	return p.ID
}

// started starts a program that is ended with the test, and returns its identity.
func started(t testing.TB, cmd *exec.Cmd) procfs.ID {
	t.Helper()
	must.Do(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // may have ended in the test
		_ = cmd.Wait()
	})
	return idOf(t, procfs.FS{}, cmd.Process.Pid)
}

// at is data at some paths as a process sees them.
func at(fs procfs.FS, id procfs.ID, paths ...string) Data {
	mounts, _ := fs.MountsSeenBy(id) // none on an empty root
	storage := make([]procfs.Storage, len(paths))
	for i, path := range paths {
		storage[i], _ = fs.StorageOf(mounts, path) // empty where no mount holds it
	}
	return func() (int, []procfs.Storage) { return len(paths), storage }
}

// all makes the five samplers that read the machine.
func all(fs procfs.FS, id procfs.ID, path string) []Sampler {
	data := at(fs, id, path)
	return []Sampler{NewCPU(fs, func() []procfs.ID { return []procfs.ID{id} }), NewMemory(fs, id, nil),
		NewDisk(fs, data), NewPressure(fs, id), NewCgroup(fs, id, data)}
}

// TestSamplersOnThisMachine reads real values: they must be plausible, not merely there, and each sampler's must be
// among its signals in the catalogue.
func TestSamplersOnThisMachine(t *testing.T) {
	lists := map[string][]metric.Desc{"cpu": metric.CPU, "memory": metric.Memory, "disk": metric.Disk,
		"pressure": metric.Pressure, "cgroup": metric.Cgroup}
	exe := must.Get(os.Executable())(t)
	b := newBook()
	for _, s := range all(procfs.FS{}, self(t), filepath.Dir(exe)) {
		own := newBook()
		if err := s.Start(t.Context(), own); err == nil {
			s.Sample(t.Context(), own)
			s.Sample(t.Context(), own)
		} else {
			t.Logf("%s: %v", s.Name(), err)
		}
		s.Close()
		for _, name := range own.names() {
			signal, _, _ := strings.Cut(name, " ")
			if !slices.ContainsFunc(lists[s.Name()], func(d metric.Desc) bool { return d.Name == signal }) {
				t.Errorf("%s recorded %s, which is not among its signals", s.Name(), signal)
			}
		}
		maps.Copy(b.last, own.last)
		b.unseen = append(b.unseen, own.unseen...)
	}
	if v := b.get(t, metric.CPUBusy, "host"); v <= 0 {
		t.Errorf("the machine was busy for %v s", v)
	}
	if n, u := b.get(t, metric.CPUPresent, "host"), b.get(t, metric.CPUUsable, "host"); n < 1 || u <= 0 || u > n {
		t.Errorf("%v cores usable of %v", u, n)
	}
	total, free := b.get(t, metric.MemTotal, "host"), b.get(t, metric.MemAvailable, "host")
	if total < 64<<20 || free <= 0 || free > total {
		t.Errorf("%v bytes of %v available", free, total)
	}
	for _, name := range b.names() {
		t.Logf("%s = %v", name, b.last[name])
	}
	for _, n := range b.unseen {
		t.Logf("unseen: %+v", n)
	}
}

// TestSamplersOnAnEmptyRoot demands that where nothing can be read nothing is recorded, and that each says so.
func TestSamplersOnAnEmptyRoot(t *testing.T) {
	for _, s := range all(procfs.FS{Root: t.TempDir()}, procfs.ID{PID: 1, Start: 1}, "/data") {
		b := newBook()
		if err := s.Start(t.Context(), b); err == nil {
			s.Sample(t.Context(), b)
		}
		s.Close()
		if len(b.last) > 0 {
			t.Errorf("%s recorded %v on an empty root", s.Name(), b.names())
		}
		if len(b.unseen) == 0 {
			t.Errorf("%s said nothing on an empty root", s.Name())
		}
	}
}

// BenchmarkTick is one Sample of each of the five, which in use are spread over half a second and a second.
func BenchmarkTick(b *testing.B) {
	sink := &discard{}
	samplers := all(procfs.FS{}, self(b), "/")
	for _, s := range samplers {
		must.Do(b, s.Start(b.Context(), sink))
		defer s.Close()
		b.Run(s.Name(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.Sample(context.Background(), sink)
			}
		})
	}
	b.Run("all", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for _, s := range samplers {
				s.Sample(context.Background(), sink)
			}
		}
	})
}

// discard is a Sink without a cost of its own.
type discard struct{ n int }

func (d *discard) Add(metric.Desc, string, float64)        { d.n++ }
func (d *discard) Event(string, string, map[string]string) { d.n++ }
func (d *discard) Unseen(string, string, string, string)   { d.n++ }
