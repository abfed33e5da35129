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
	Doc: `
## What it means
Who loads data asks another program for it over TCP, such as an object store, a database or a cache, and sleeps until the answer is there. A
request takes one round trip and the other side's time, whatever CPUs are free here; one after another they add up.

## How it is detected
Loader workers, or who else loads, are found asleep in a receive or a connect on a TCP connection, or in a poll of a socket with a time-out, for
a good part of their time. The descriptor's socket is looked up in the table of connections of the job's own network namespace, which names the
peer. Nothing of what is sent is seen.

## How to mend it
Waits overlap: more workers than cores are sensible, as many as the model of the loader says. Fewer and larger requests: shards instead of single
items, the items of a batch asked for together (__getitems__). One client for each worker, made on first use and kept: a new connection costs one
more round trip, with TLS two or three. What fits on a local disk is best fetched once.

## When it is wrong
The other side may have a limit of its own; then more workers gain less than predicted. On this machine (127.0.0.1, ::1) that may be its CPUs,
or it passes requests on, as a proxy does. A peer with few requests each is not named where it hangs
up before the table is read, ten times a second at most. Waits of other threads (fsspec's, so s3fs and gcsfs; asyncio), of programs that a worker
runs (curl, aws s3 cp) and in select are not seen. A trainer without workers that waits for the network may be logging and not
loading: that it loads meanwhile counts as likely, and never as sure.
`,
	Needs:    []metric.Desc{metric.NumWorkers, metric.WorkerBusy, metric.WorkerRemote},
	Limits:   limits(storageLimit, gainLimit),
	Explains: []string{"loader/workers-too-few", "loader/workers-zero", "loader/slow-sample-blocks"},
	Applies:  withWorkers,
	Eval: func(p *diagnose.Pass) error {
		waits := share(p.Get(metric.WorkerRemote) / p.Get(metric.WorkerBusy))
		score := starved(p) * waits
		if waits < p.Limit(storageLimit.Name) || score < diagnose.Moderate.Value {
			return nil
		}
		from, requests := "over the network", "requests over the network"
		if onLoopback(p) {
			from, requests = "from another program on this machine", "requests to it"
		}
		fetched := report.Recommendation{Setting: requests, To: "fewer and larger, on connections that are kept, or from a local copy",
			Why: "shards, or all items of a batch at once; one client for each worker; what fits on a local disk is fetched once"}
		if loader, ok := p.Loader(); ok {
			fetched.Effect = loader.SavingUnthrottled(waits/2, waits)
		}
		f := report.Finding{
			Severity: diagnose.Grade(score), Score: score,
			Summary: fmt.Sprintf("Loading waits for answers %s %s of its time%s", from, unit.Percent(waits), peers(p)),
			Evidence: seen(p, metric.WorkerRemote, metric.WorkerBusy, metric.WorkerRunning, metric.WorkerCPUBatch, metric.WorkerWaitBatch,
				metric.NumWorkers),
			Recommendations: []report.Recommendation{fetched},
			Unhelpful:       tooSlowly(p),
		}
		if p.Evidence.Facts.Fed == nil {
			f.Recommendations = append(moreReaders(p), fetched)
		}
		if !onLoopback(p) { // else it is these CPUs that make the answers
			f.Unhelpful = append(f.Unhelpful, against("more or faster CPUs: loading sleeps until an answer is there",
				report.Unhelpful{Setting: "usable CPUs", Direction: report.Up})...)
		}
		p.Report(f)
		return nil
	},
}

// onLoopback tells whether most of the waits whose peer is known are for a program on this machine.
func onLoopback(p *diagnose.Pass) bool {
	r := p.Evidence.Facts.Remotes
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
	for i, r := range p.Evidence.Facts.Remotes {
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
