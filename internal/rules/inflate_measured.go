package rules

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// smallItem is the item below which a chunk of its own costs more than it saves.
var smallItem = threshold("item too small for a chunk of its own", 10<<10, metric.Bytes,
	"h5py documentation, Chunked storage: chunks between 10 KiB and 1 MiB are recommended")

// keepOld is what to mind when a dataset is rewritten.
const keepOld = "write a copy and keep the old file until it is checked"

// unrepacked is what to mind beside a command with h5repack: it ends at the first item that it cannot read, and leaves
// a file that is of no use. "" where all could be read, or there is no command.
func unrepacked(p *diagnose.Pass, command string) string {
	if command == "" || !p.Bench.Damaged {
		return ""
	}
	return "; h5repack fails on a file of which a part cannot be read: restore it first (see Not read)"
}

// rechunked reports the measured finding of rules about chunks that hold more than an item needs, unless another chunk
// shape would save little. That shape is one item per chunk or, where an item is too small for that, contiguous storage
// without filters. The time of an item that is alone in its chunk is what --try measured or, without it, its part of
// the filters' time and a plain read; what storage takes of a cold item is left as it is.
func rechunked(p *diagnose.Pass, amplify float64, summary string) {
	before, state := settled(p)
	to, name, command := newChunk(p), "chunk-item", repack(p)
	caveat := "smaller chunks compress less and make the file larger; " + keepOld
	bytes, ok := p.Maybe(metric.BenchItemBytes)
	inOnePiece := ok && bytes < smallItem.Value
	if inOnePiece {
		to, name, command = "contiguous, no filter", "contiguous", h5repack(p, "-f", "NONE", "-l", "CONTI")
		caveat = "the file grows to the size of its data; " + keepOld
	}
	waits := 0.0
	if warm, ok := p.Maybe(metric.BenchItem); ok && state == "cold" {
		waits = max(before.Center-warm, 0)
	}
	filters := stat.Summary{}
	if v, ok := p.Evidence.Get(metric.BenchFilter); ok && !inOnePiece {
		filters = v.Summary
	}
	plain := more(plainRead(p), waits)
	after := spread(filters.Lo/amplify+plain.Lo, filters.Center/amplify+plain.Center,
		layoutError.Value*(filters.Hi/amplify+plain.Hi))
	known := true
	if inOnePiece {
		var mind string
		grown := compression(p)
		if after, mind, known = unpacked(p, after, grown, bytes*amplify/grown); mind != "" {
			caveat += "; " + mind
		}
	}
	item := timing{before, after, report.Modelled}
	score := savedShare(before.Center, after.Hi)
	if t, c, ok := tried(p, name); ok {
		item, known, score = t, true, t.saved()
		command = cmp.Or(c.Command, command)
		if size := sizeCaveat(p, c); size != "" {
			caveat = size + "; " + keepOld
		}
	}
	if score < diagnose.Moderate.Value {
		return
	}
	rec := report.Recommendation{Setting: "HDF5 chunk shape", From: nonEmpty(layoutOf(p).Chunk), To: to,
		Why: "an item then reads and decodes only itself", Caveat: caveat + unrepacked(p, command),
		Effect: item.effect(), Command: command}
	if !known {
		rec.Effect = nil
	}
	p.Report(report.Finding{
		Score: score, Summary: summary,
		Evidence: seen(p, metric.BenchItem, metric.BenchColdItem, metric.BenchFilter, metric.BenchFilterRatio,
			metric.HDF5Chunk, metric.HDF5Cache, metric.HDF5PerChunk, metric.HDF5Touched, metric.HDF5Amplify,
			metric.HDF5Filters, metric.BenchAmplify, metric.BenchCacheSize, metric.BenchCacheGain, metric.BenchTryGain),
		Recommendations: append([]report.Recommendation{rec}, unfilteredToo(p, item)...),
		Unhelpful:       slices.Concat(largerCache(p), fasterStorage(p)),
	})
}

// unfilteredToo adds what --try measured without filters, where that is quicker still by a part worth a finding of its
// own.
func unfilteredToo(p *diagnose.Pass, item timing) []report.Recommendation {
	t, c, ok := tried(p, unfiltered...)
	if p.OrZero(metric.HDF5Filters) < 1 || !ok || savedShare(item.after.Center, t.after.Center) < diagnose.High.Value {
		return nil
	}
	rec := report.Recommendation{Setting: "HDF5 layout", To: c.Name, Why: "without filters nothing is left to undo",
		Caveat: strings.TrimPrefix(sizeCaveat(p, c)+unrepacked(p, c.Command), "; "),
		Effect: quicker(item.before, t.after, report.Measured, ""), Command: c.Command}
	return []report.Recommendation{rec}
}

// largerCache is the negative advice on a larger chunk cache, as the sweep measured it; nil where it pays.
func largerCache(p *diagnose.Pass) []report.Unhelpful {
	gain, ok := p.Evidence.Get(metric.BenchCacheGain)
	if !ok {
		return against("a larger chunk cache, unless it holds most of the dataset: in random order the next item "+
			"lies in another chunk", biggerCache)
	}
	if gain.Center >= diagnose.Moderate.Value && gain.Lo > 0 {
		return nil
	}
	size := unit.Bytes(p.OrZero(metric.BenchCacheSize))
	what := "with " + size + " an item took no less"
	if gain.Center > 0 && gain.Lo > 0 {
		what = size + " saved " + unit.Percent(gain.Center)
	}
	return against("a larger chunk cache in random order: "+what+" (measured)", biggerCache)
}
