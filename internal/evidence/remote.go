package evidence

import (
	"cmp"
	"slices"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
)

// Remote is a peer that loading waits for over TCP.
type Remote struct {
	Address string  // number and port, or "others"
	Share   float64 // of all such waits whose peer is known
}

// remote takes how long those that load for a trainer wait on TCP connections, and to whom.
func (b *builder) remote(r *rank) {
	b.take(metric.WorkerRemote, b.shareOf(metric.ThreadRemote, r.workerSet), metric.ThreadRemote)
	all := 0.0
	for _, e := range b.rec.Events {
		if e.Kind != recording.EventRemote || e.Attrs["trainer"] != r.entity {
			continue
		}
		if samples := sum(b.grow(e.Entity, metric.RemoteSamples)); samples > 0 {
			all += samples
			b.ev.Facts.Remotes = append(b.ev.Facts.Remotes, Remote{e.Attrs["address"], samples})
		}
	}
	for i := range b.ev.Facts.Remotes {
		b.ev.Facts.Remotes[i].Share /= all
	}
	slices.SortFunc(b.ev.Facts.Remotes, func(x, y Remote) int {
		return cmp.Or(cmp.Compare(y.Share, x.Share), cmp.Compare(x.Address, y.Address))
	})
}

// shareOf is the share of samples of processes or threads that found them in a state, of those of which it could be
// reported; absent where of none.
func (b *builder) shareOf(state metric.Desc, of []*process) figure {
	reported := slices.DeleteFunc(slices.Clone(of), func(a *process) bool { return b.h.of(state, a.entity) == nil })
	return ratio(b.totals(reported, state), b.totals(reported, metric.ThreadSamples))
}
