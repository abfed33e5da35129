package evidence

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/stat"
)

// Most of what is kept of each kind: a report names one or two of them.
const (
	mostSites  = 16
	mostSlow   = 8
	mostOthers = 16
)

// hookFacts takes what is no number.
func (b *builder) hookFacts(r *rank) {
	h := r.hook
	hello := recording.Rows[recording.Hook](b.Rec, recording.EventHook)[r.Entity]
	out := &Hook{Torch: hello.Torch, Python: cmp.Or(hello.Python, b.Rec.Header.Job.Python), Loader: h.training.call,
		Steps: stat.Sum(r.batches), Epochs: stat.Sum(h.training.of(metric.HookEpochs)), Epoch: h.cost()}
	out.Loader.Made, out.Loader.RecreatedEachEpoch = h.made, h.recreated()
	out.LeastStep, out.OtherLoaderCPUs = h.otherLoaders()
	b.hookPauses(r, out)
	others := slices.Concat(h.evaluations, h.sources)
	for _, l := range others[:min(len(others), mostOthers)] {
		out.Others = append(out.Others, l.call)
	}
	out.SyncsPartly = hello.SyncPoints != nil && !*hello.SyncPoints
	training := []*hookLoop{h.training}
	out.Opens, out.Syncs = topSites(b.sites(h.all(), "open")), topSites(b.sites(training, "sync"))
	out.Archives = topSites(b.sites(training, "archive"))
	out.Slow = b.slowItems(h.training)
	b.ev.Facts.Hook = out
}

// hookSettings puts what the loader was given in place of what could be seen of it.
func (b *builder) hookSettings() {
	f := &b.ev.Facts
	if f.Hook == nil {
		return
	}
	f.Framework = cmp.Or(f.Framework, "pytorch") // the hook is in nothing else
	c := f.Hook.Loader
	if c.NumWorkers != nil && *c.NumWorkers == 0 { // these mean nothing then
		f.Prefetch, f.Persistent, f.StartMethod = nil, nil, ""
	} else {
		f.Prefetch, f.Persistent = cmp.Or(c.Prefetch, f.Prefetch), cmp.Or(c.Persistent, f.Persistent)
		f.StartMethod, f.Sharing = cmp.Or(c.StartMethod, f.StartMethod), cmp.Or(c.Sharing, f.Sharing)
	}
	f.PinMemory, f.BatchSize = cmp.Or(c.PinMemory, f.PinMemory), cmp.Or(c.BatchSize, f.BatchSize)
}

// sites returns the lines of a kind from which calls were made in the window, most time first; a line that opens
// several files is there once for each.
func (b *builder) sites(loops []*hookLoop, kind string) []Site {
	rows := recording.Rows[recording.Site](b.Rec, recording.EventSite)
	of := map[string]*hookLoop{}
	for _, l := range loops {
		for _, m := range l.members {
			of["site/"+m[len("loop/"):]] = l
		}
	}
	var all []Site
	for _, t := range b.Tracks(metric.HookSiteCalls) {
		l, row := of[t.Entity[:max(strings.LastIndexByte(t.Entity, '/'), 0)]], rows[t.Entity]
		if l == nil || row.Kind != kind {
			continue
		}
		calls, _ := l.clock.sinceBirth(t).Grow(b.Spans)
		took, _ := l.clock.sinceBirth(b.Track(metric.HookSiteTime, t.Entity)).Grow(b.Spans)
		if stat.Sum(calls) > 0 {
			all = append(all, Site{Site: row, Calls: stat.Sum(calls), Seconds: stat.Sum(took)})
		}
	}
	return mergeSites(all, func(s Site) Site {
		s.Calls, s.Seconds = 0, 0
		return s
	})
}

// topSites makes one of a line's files: the one that takes most time names it.
func topSites(all []Site) []Site {
	out := mergeSites(all, func(s Site) Site {
		return Site{Site: recording.Site{File: s.File, Line: s.Line, Function: s.Function}}
	})
	return out[:min(len(out), mostSites)]
}

// mergeSites adds up those of one key, which the first of them stands for, most time first.
func mergeSites(all []Site, key func(Site) Site) []Site {
	var out []Site
	at := map[Site]int{}
	for _, s := range all {
		i, ok := at[key(s)]
		if !ok {
			at[key(s)], out = len(out), append(out, s)
			continue
		}
		out[i].Calls, out[i].Seconds = out[i].Calls+s.Calls, out[i].Seconds+s.Seconds
	}
	slices.SortStableFunc(out, func(x, y Site) int {
		return cmp.Or(cmp.Compare(y.Seconds, x.Seconds), cmp.Compare(y.Calls, x.Calls))
	})
	return out
}

// slowItems returns the slowest items of a loop, slowest first; of several times an item is reported, the last stands.
func (b *builder) slowItems(l *hookLoop) []SlowItem {
	byIndex := map[int64]SlowItem{}
	for e, item := range recording.Each[recording.SlowItem](b.Rec, recording.EventSlowItem) {
		if slices.Contains(l.members, e.Entity) && item.Seconds > 0 {
			item.Times = max(item.Times, 1)
			byIndex[item.Index] = item
		}
	}
	out := slices.SortedFunc(maps.Values(byIndex), func(x, y SlowItem) int {
		return cmp.Or(cmp.Compare(y.Seconds, x.Seconds), cmp.Compare(x.Index, y.Index))
	})
	return out[:min(len(out), mostSlow)]
}

// allSites is the share of opens that must be reported by line for the files opened to be counted from them: the hook
// keeps a bounded number of lines.
const allSites = 0.9

// reportedOpens is how often HDF5 files are opened, in a second and for a batch, where h5py opened any: another
// library's opens are seen from outside only. Of how many different files is reported where the lines hold nearly all.
func (b *builder) reportedOpens(r *rank) (perSec, perBatch, distinct figure) {
	if r.hook == nil {
		return
	}
	l := r.hook.training
	opens := l.made(metric.HookOpens)
	every := r.hook.over(r.hook.all(), func(l *hookLoop) []float64 { return l.made(metric.HookOpens) })
	if stat.Sum(every) <= 0 {
		return
	}
	perSec, perBatch = b.ratio(every, r.hook.reported), b.ratio(opens, l.made(metric.HookFetches))
	calls, files := 0.0, map[string]bool{}
	for _, s := range b.sites([]*hookLoop{l}, "open") {
		calls += s.Calls
		files[s.What] = true
	}
	if calls >= max(allSites*stat.Sum(opens), 1) {
		distinct = exact(float64(len(files)) / calls)
	}
	return
}
