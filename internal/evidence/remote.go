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
	b.take(metric.WorkerRemote, b.remoteWait(r.workerSet), metric.ThreadRemote)
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

// remoteWait is the share of time in which processes or threads wait on TCP connections; absent where that could not be
// reported.
func (b *builder) remoteWait(of []*process) figure {
	reported := slices.DeleteFunc(slices.Clone(of), func(a *process) bool {
		return b.h.of(metric.ThreadRemote, a.entity) == nil
	})
	return ratio(b.totals(reported, metric.ThreadRemote), b.totals(reported, metric.ThreadSamples))
}
