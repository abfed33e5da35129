package hooked

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/evidence/watched"
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

// Facts is what is no number. mixed: where a step of training goes is not known.
func (h *Trainer) Facts(mixed bool) *Hook {
	hello := recording.Rows[recording.Hook](h.w.Rec, recording.EventHook)[h.process.Entity]
	out := &Hook{Torch: hello.Torch, Python: cmp.Or(hello.Python, h.w.Rec.Header.Job.Python), Loader: h.Training.Call,
		Steps: stat.Sum(h.Training.Of(metric.HookSteps)), Epochs: stat.Sum(h.Training.Of(metric.HookEpochs)),
		Epoch: h.Cost()}
	out.Loader.Made, out.Loader.RecreatedEachEpoch = h.made, h.recreated()
	out.Evaluating, out.Pauses = h.pauses(mixed)
	others := slices.Concat(h.Evaluations, h.Sources)
	for _, l := range others[:min(len(others), mostOthers)] {
		out.Others = append(out.Others, l.Call)
	}
	out.SyncsPartly = hello.SyncPoints != nil && !*hello.SyncPoints
	training := []*Loop{h.Training}
	out.Opens, out.Syncs = topSites(h.Sites(h.All(), "open")), topSites(h.Sites(training, "sync"))
	out.Archives = topSites(h.Sites(training, "archive"))
	out.Slow = h.slowItems(h.Training)
	return out
}

// Sites returns the lines of a kind from which calls were made in the window, most time first; a line that opens
// several files is there once for each.
func (h *Trainer) Sites(loops []*Loop, kind string) []Site {
	rows := recording.Rows[recording.Site](h.w.Rec, recording.EventSite)
	of := map[string]*Loop{}
	for _, l := range loops {
		for _, m := range l.Members {
			of["site/"+m[len("loop/"):]] = l
		}
	}
	var all []Site
	for _, t := range h.w.Tracks(metric.HookSiteCalls) {
		l, row := of[t.Entity[:max(strings.LastIndexByte(t.Entity, '/'), 0)]], rows[t.Entity]
		if l == nil || row.Kind != kind {
			continue
		}
		calls, _ := l.clock.sinceBirth(t).Grow(h.w.Spans)
		took, _ := l.clock.sinceBirth(h.w.Track(metric.HookSiteTime, t.Entity)).Grow(h.w.Spans)
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
func (h *Trainer) slowItems(l *Loop) []SlowItem {
	byIndex := map[int64]SlowItem{}
	for e, item := range recording.Each[recording.SlowItem](h.w.Rec, recording.EventSlowItem) {
		if slices.Contains(l.Members, e.Entity) && item.Seconds > 0 {
			item.Times = max(item.Times, 1)
			byIndex[item.Index] = item
		}
	}
	out := slices.SortedFunc(maps.Values(byIndex), func(x, y SlowItem) int {
		return cmp.Or(cmp.Compare(y.Seconds, x.Seconds), cmp.Compare(x.Index, y.Index))
	})
	return out[:min(len(out), mostSlow)]
}

// Hook is what was reported from inside a launched job about the training loop: the loader with the most time among
// those asked while gradients are enabled or, of several that are gone over in each step, the one that training waits
// most for.
type Hook struct {
	Torch, Python string
	Loader        watched.LoaderCall
	Others        []watched.LoaderCall // loaders also gone over in the window: evaluation, or a second source
	Opens         []Site               // lines that open HDF5 files, most time first
	Archives      []Site               // lines that open archives or read files whole (metric.HookArchive), likewise
	Syncs         []Site               // lines that wait for the GPU, most time first
	SyncsPartly   bool                 // of these the methods of Tensor, such as item, were not timed
	Slow          []SlowItem           // slowest items, slowest first
	Steps, Epochs float64              // batches of the training loop in the window, and its epochs that ended there
	Epoch         EpochCost            // of all epochs that were reported, those before the window too
	Evaluating    Evaluating
	Pauses        Pauses
}

// Site is a line of the person's source with the calls made from it in the window.
type Site struct {
	recording.Site
	Calls, Seconds float64
}

// SlowItem is one of the slowest items.
type SlowItem = recording.SlowItem
