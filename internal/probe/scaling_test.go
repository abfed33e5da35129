package probe

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/benchmark"
	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/pkg/report"
)

func TestCrowdSizes(t *testing.T) {
	for name, c := range map[string]struct {
		cpus        float64
		most, items int
		want        []int
	}{
		"one CPU":              {1, 0, 1000, []int{1, 2, 4}},
		"two":                  {2, 0, 1000, []int{1, 2, 4}},
		"two and a half":       {2.5, 0, 1000, []int{1, 2, 4, 8}},
		"eight":                {8, 0, 1000, []int{1, 2, 4, 8, 16}},
		"as asked":             {8, 2, 1000, []int{1, 2}},
		"no power of two":      {2, 6, 1000, []int{1, 2, 4, 6}},
		"one process":          {8, 1, 1000, []int{1}},
		"more than items":      {8, 0, 3, []int{1, 2}},
		"a very large machine": {448, 0, 1000, []int{1, 2, 4, 8, 16, 32, 64, 128}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, groupSizes(c.cpus, c.most, c.items)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestShares(t *testing.T) {
	items := []int{7, 3, 9, 1, 5}
	var all []int
	for i := range 3 {
		all = append(all, share(items, i, 3)...)
	}
	slices.Sort(all)
	if diff := cmp.Diff([]int{1, 3, 5, 7, 9}, all); diff != "" {
		t.Error(diff)
	}
}

// It has time enough for all six beside other tests and the race detector, with which 3 s ended before the cold ones.
func TestScalingWarmAndCold(t *testing.T) {
	sample := rawSample(t, 64<<10, 16, "a", "b", "c", "d", "e", "f", "g", "h")
	r := measured(t, sample, Options{Budget: 8 * time.Second, Seed: 1, CPUs: 2}, report.ProbeScaling)
	for _, cache := range []string{warm, cachesDropped} {
		for _, n := range []int{1, 2, 4} {
			want := []string{"workers=" + strconv.Itoa(n), "cache=" + cache, "order=random", "handle=kept"}
			efficiency := find(t, r, report.ProbeScaling, metric.Efficiency, want...)
			cores := find(t, r, report.ProbeScaling, metric.CPUCores, want...)
			if n == 1 && efficiency.Center != 1 || efficiency.Center <= 0 || cores.Center <= 0 ||
				cores.Center > float64(n)+1 {
				t.Errorf("%d processes, %s: efficiency %v, cores %v", n, cache, efficiency.Center, cores.Center)
			}
		}
	}
	bound := map[string]string{}
	for _, m := range r.Rows.Measurements() {
		if m.Metric == metric.ItemRate.Name {
			bound[m.Labels[report.LabelCache]+m.Labels[report.LabelWorkers]] = m.Labels[report.LabelBound]
			if m.Value.N < 1 || m.Value.Center <= 0 {
				t.Errorf("%v: %+v", m.Labels, m.Value)
			}
			if m.Value.Confidence == 0 && m.Labels[report.LabelBound] != "" {
				t.Errorf("%v with %+v: no interval, and yet a bound", m.Labels, m.Value)
			}
			if m.Value.Confidence > 0 && m.Labels[report.LabelWorkers] == "1" &&
				m.Labels[report.LabelBound] != benchmark.BoundNone {
				t.Errorf("one process is bound by something: %v", m.Labels)
			}
		}
	}
	if len(bound) != 6 {
		t.Errorf("bounds %v", bound)
	}
	if len(r.Unread)+len(r.Abstained) > 0 {
		t.Errorf("unread %+v, abstained %+v", r.Unread, r.Abstained)
	}
}

// Two processes read no more than twice as much as one, although half of the sample's chunks would fit into the chunk
// cache of each: 96 of 16 KiB, and the cache holds 64.
func TestScalingIsNotOfChunkCaches(t *testing.T) {
	path := filepath.Join(onDisk(t), "a.h5")
	must.Python(t, "-c", `import sys, h5py, numpy as n
with h5py.File(sys.argv[1], "w") as f:
    x = n.random.default_rng(0).normal(size=(96, 64, 64)).astype("f4")
    f.create_dataset("x", data=x, chunks=(1, 64, 64), compression="gzip")`, path)
	sample, layout := surveyed(t, path)
	s := testSession(t, sample, Options{Budget: 4 * time.Second, MaxWorkers: 2, NoCold: true, Layout: layout})
	must.Do(t, scaling(t.Context(), s))
	for _, m := range s.result.Rows.Measurements() {
		if m.Metric == metric.Efficiency.Name && m.Value.Center > 1.5 { // each half from its cache: 56
			t.Errorf("%v: efficiency %v", m.Labels, m.Value.Center)
		}
	}
	if len(s.result.Rows.Measurements()) == 0 {
		t.Errorf("nothing was measured: %+v", s.result)
	}
}

// Processes open a file for each item where a job must, as what one item costs has it.
func TestScalingOpensEachFile(t *testing.T) {
	sample := rawSample(t, 64<<10, 1, "a", "b", "c", "d")
	sample.OpensEach = true
	r := measured(t, sample, Options{Budget: time.Second, Seed: 1, MaxWorkers: 1, NoCold: true}, report.ProbeScaling)
	find(t, r, report.ProbeScaling, metric.Efficiency, "workers=1", "cache=warm", "order=random", "handle=reopened")
}

func TestScalingSaysWhyColdReadsAreLeftOut(t *testing.T) {
	s := testSession(t, rawSample(t, 4096, 12, "a"), Options{Budget: 10 * time.Second, CPUs: 2})
	// no two of the file's items lie so far apart
	s.page.asked, s.page.ahead, s.result.Cold.Possible = true, 1<<20, true
	must.Do(t, scaling(t.Context(), s))
	var said []string
	for _, w := range s.result.Warnings {
		if strings.Contains(w, "left out") || strings.Contains(w, "ended") {
			said = append(said, w)
		}
	}
	want := []string{"cold reads by 2 processes and more were left out: only 1 of the sampled items lies far enough " +
		"from the others"}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Error(diff)
	}
}

func TestScalingDecodesPictures(t *testing.T) {
	sample := somePictures(t, 6)
	cut := damage(t, sample, 0, 300)
	r := measured(t, sample, Options{Budget: time.Second, Seed: 1, MaxWorkers: 2, NoCold: true}, report.ProbeScaling)
	for _, n := range []string{"1", "2"} {
		find(t, r, report.ProbeScaling, metric.Efficiency, "workers="+n, "cache=warm", "order=random")
	}
	onlyUnread(t, r, cut, "") // it can be read, and not decoded
}

func TestScalingSurvivesACrash(t *testing.T) {
	sample := rawSample(t, 4096, 16, "a", "b", "crash", "c", "d")
	r := measured(t, sample, Options{Budget: time.Second, MaxWorkers: 2, NoCold: true}, report.ProbeScaling)
	find(t, r, report.ProbeScaling, metric.Efficiency, "workers=2", "cache=warm", "order=random", "handle=kept")
	onlyUnread(t, r, "/crash", string(dataset.Crashed))
}

func TestScalingEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := testSession(t, rawSample(t, 4096, 16, "a"), Options{})
	if err := scaling(ctx, s); err == nil || len(s.result.Rows.Measurements()) > 0 {
		t.Errorf("measured after the end: %v, %+v", err, s.result.Rows.Measurements())
	}
}

// All processes of a round begin at the same instant, none before it.
func TestCrowdStartsTogether(t *testing.T) {
	s := testSession(t, rawSample(t, 4096, 64, "a"), Options{})
	c := &workerGroup{session: s, items: inOrder(&s.sample, random, 1), pass: shortestPass}
	defer c.close()
	before := procfs.Monotonic()
	r := must.Get(c.round(t.Context(), 3))(t)
	if took := procfs.Monotonic() - before; took < lead(3)+shortestPass {
		t.Errorf("a round that began %v ahead took %v", lead(3), took)
	}
	if p := c.processes; len(p) != 3 || p[0].pid == p[1].pid || p[1].pid == p[2].pid || r.rate <= 0 || r.bytes <= 0 {
		t.Errorf("%d processes, %+v", len(c.processes), r)
	}
}
