package rules

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var storageRemoteWait = diagnose.Rule{
	ID:       "storage/remote-wait",
	Title:    "Loading waits for answers over the network",
	Resource: report.OnStorage,
	Needs:    []metric.Desc{metric.NumWorkers, metric.WorkerBusy, metric.WorkerRemote},
	Limits:   limits(storageLimit, gainLimit),
	Explains: []string{"loader/workers-too-few", "loader/workers-zero", "loader/slow-sample-blocks"},
	Applies:  withWorkers,
	Eval: func(p *diagnose.Pass) {
		waits := share(p.Get(metric.WorkerRemote) / p.Get(metric.WorkerBusy))
		if waits < p.Limit(storageLimit) || starved(p)*waits < diagnose.Moderate.Value {
			return
		}
		from, requests := "over the network", "requests over the network"
		if onLoopback(p) {
			from, requests = "from another program on this machine", "requests to it"
		}
		fetched := report.Recommendation{Setting: requests, To: "fewer and larger, on connections that are kept, or " +
			"from a local copy",
			Why: "shards, or all items of a batch at once; one client for each worker; what fits on a local disk is " +
				"fetched once"}
		f := storageCause(waits,
			fmt.Sprintf("Loading waits for answers %s %s of its time%s", from, unit.Percent(waits), peers(p)), fetched,
			seen(p, metric.WorkerRemote, metric.WorkerBusy, metric.WorkerRunning, metric.WorkerCPUBatch,
				metric.WorkerWaitBatch, metric.NumWorkers)).finding(p)
		f.Unhelpful = tooSlowly(p)
		if p.Facts.Fed == nil {
			f.Recommendations = append(moreReaders(p), f.Recommendations...)
		}
		if !onLoopback(p) { // else it is these CPUs that make the answers
			f.Unhelpful = append(f.Unhelpful, against("more or faster CPUs: loading sleeps until an answer is there",
				report.Unhelpful{Setting: "usable CPUs", Direction: report.Up})...)
		}
		p.Report(f)
	},
}

// onLoopback reports whether most of the waits whose peer is known are for a program on this machine.
func onLoopback(p *diagnose.Pass) bool {
	r := p.Facts.Remotes
	if len(r) == 0 {
		return false
	}
	at, err := netip.ParseAddrPort(r[0].Address)
	return err == nil && at.Addr().IsLoopback()
}

// peers names who loading waits for, the most first.
func peers(p *diagnose.Pass) string {
	const shown = 3
	var said []string
	rest := 0.0
	for i, r := range p.Facts.Remotes {
		if i < shown {
			said = append(said, fmt.Sprintf("%s (%s)", r.Address, unit.Percent(r.Share)))
		} else {
			rest += r.Share
		}
	}
	if rest > 0 {
		said = append(said, fmt.Sprintf("others (%s)", unit.Percent(rest)))
	}
	if len(said) == 0 {
		return ""
	}
	return ": " + strings.Join(said, ", ")
}
