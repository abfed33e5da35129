package evidence

import (
	"cmp"
	"slices"
	"strconv"
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
	hello := eventsOf(b.rec, recording.EventHook)[r.entity]
	out := &Hook{Torch: hello["torch"], Python: cmp.Or(hello["python"], b.rec.Header.Job.Python), Loader: h.training.call,
		Steps: sum(r.batches), Epochs: sum(h.training.of(metric.HookEpochs)), Epoch: epochCost(h.epochs)}
	out.Loader.Made, out.Loader.Anew = h.made, h.anew()
	out.Loader.Wait, out.Together = sum(h.training.waits()), len(h.partners)+1
	out.LeastStep, out.BesideCPUs = h.besides()
	b.hookPauses(r, out)
	for _, l := range slices.Concat(h.evaluations, h.sources) {
		if len(out.Others) < mostOthers {
			call := l.call
			call.Wait = sum(l.waits())
			out.Others = append(out.Others, call)
		}
	}
	out.SyncsPartly = hello["sync_points"] == "0"
	out.Opens, out.Syncs = topSites(b.sites(h.all(), "open")), topSites(b.sites([]*hookLoop{h.training}, "sync"))
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
	if c.Workers != nil && *c.Workers == 0 { // these mean nothing then
		f.Prefetch, f.Persistent, f.StartMethod = nil, nil, ""
	} else {
		f.Prefetch, f.Persistent, f.StartMethod = either(c.Prefetch, f.Prefetch), either(c.Persistent, f.Persistent), cmp.Or(c.StartMethod, f.StartMethod)
	}
	f.PinMemory, f.BatchSize = either(c.PinMemory, f.PinMemory), either(c.BatchSize, f.BatchSize)
}

// either returns the first that is known.
func either[T any](a, b *T) *T {
	if a != nil {
		return a
	}
	return b
}

// sites returns the lines of a kind from which calls were made in the window, most time first; a line that opens several files is there once for each.
func (b *builder) sites(loops []*hookLoop, kind string) []Site {
	if b.siteEvents == nil {
		b.siteEvents = eventsOf(b.rec, recording.EventSite)
	}
	of := map[string]*hookLoop{}
	for _, l := range loops {
		for _, m := range l.members {
			of["site/"+m[len("loop/"):]] = l
		}
	}
	merged := map[Site]*Site{}
	var out []*Site
	for _, t := range b.h.all(metric.HookSiteCalls) {
		attrs := b.siteEvents[t.entity]
		l := of[t.entity[:max(strings.LastIndexByte(t.entity, '/'), 0)]]
		if l == nil || attrs["kind"] != kind {
			continue
		}
		calls, _ := l.clock.sinceBirth(t).grow(b.spans)
		took, _ := l.clock.sinceBirth(b.h.of(metric.HookSiteTime, t.entity)).grow(b.spans)
		if sum(calls) <= 0 {
			continue
		}
		key := Site{What: attrs["what"], File: attrs["file"], Function: attrs["function"]}
		if line := whole(attrs, "line"); line != nil {
			key.Line = *line
		}
		if merged[key] == nil {
			s := key
			merged[key], out = &s, append(out, &s)
		}
		merged[key].Calls += sum(calls)
		merged[key].Seconds += sum(took)
	}
	slices.SortStableFunc(out, func(x, y *Site) int { return cmp.Or(cmp.Compare(y.Seconds, x.Seconds), cmp.Compare(y.Calls, x.Calls)) })
	all := make([]Site, len(out))
	for i, s := range out {
		all[i] = *s
	}
	return all
}

// topSites makes one of a line's files: the one that takes most time names it.
func topSites(all []Site) []Site {
	var out []Site
	at := map[Site]int{}
	for _, s := range all {
		line := Site{File: s.File, Line: s.Line, Function: s.Function}
		if i, ok := at[line]; ok {
			out[i].Calls, out[i].Seconds = out[i].Calls+s.Calls, out[i].Seconds+s.Seconds
			continue
		}
		at[line] = len(out)
		out = append(out, s)
	}
	slices.SortStableFunc(out, func(x, y Site) int { return cmp.Compare(y.Seconds, x.Seconds) })
	return out[:min(len(out), mostSites)]
}

// slowItems returns the slowest items of a loop, slowest first; of several times an item is told, the last stands.
func (b *builder) slowItems(l *hookLoop) []SlowItem {
	byIndex := map[int64]SlowItem{}
	for _, e := range b.rec.Events {
		if e.Kind != recording.EventSlowItem || !slices.Contains(l.members, e.Entity) {
			continue
		}
		index, err := strconv.ParseInt(e.Attrs["index"], 10, 64)
		took, ok := attr(e.Attrs, "seconds")
		times := whole(e.Attrs, "times")
		if err != nil || !ok {
			continue
		}
		item := SlowItem{Index: index, Seconds: took, Times: 1}
		if times != nil {
			item.Times = max(*times, 1)
		}
		byIndex[index] = item
	}
	out := make([]SlowItem, 0, len(byIndex))
	for _, s := range byIndex {
		out = append(out, s)
	}
	slices.SortFunc(out, func(x, y SlowItem) int {
		return cmp.Or(cmp.Compare(y.Seconds, x.Seconds), cmp.Compare(x.Index, y.Index))
	})
	return out[:min(len(out), mostSlow)]
}

// allSites is the share of opens that must be told by line for the files opened to be counted from them: the hook keeps a bounded number of lines.
const allSites = 0.9

// hookOpens takes how often HDF5 files are opened, where h5py opened any: another library's opens are seen from outside only.
func (b *builder) hookOpens(r *rank) {
	l := r.hook.training
	opens := l.made(metric.HookOpens)
	every := r.hook.ofAll(func(l *hookLoop) []float64 { return l.made(metric.HookOpens) })
	if sum(every) <= 0 {
		return
	}
	b.replace(metric.HDF5Opens, stat.Ratio(every, r.hook.told))
	b.replace(metric.OpensPerBatch, stat.Ratio(opens, l.made(metric.HookFetches)))
	calls, files := 0.0, map[string]bool{}
	for _, s := range b.sites([]*hookLoop{l}, "open") {
		calls += s.Calls
		files[s.What] = true
	}
	if calls >= max(allSites*sum(opens), 1) {
		b.exact(metric.DistinctOpens, hold(float64(len(files))/calls), metric.Measured)
	}
}
