package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var (
	crowd = threshold("files of a crowded folder", 10000, metric.Count,
		"derived: tens of thousands of names; listing a folder of 50,000 took 17.5 ms from memory, one of 100 took "+
			"0.1 ms (ext4, Debian)")
	ordinaryOpen = threshold("opening a file by name in memory", 25e-6, metric.Seconds,
		"measured: open, fstat and close of a cached file take 3.3 µs in a folder of 100 files and 3.7 µs in one of "+
			"50,000 (ext4, Debian); open, read of 8 KiB and close 23 µs")
	ordinaryColdOpens = threshold("requests of opening a file cold", 3, metric.Count,
		"derived: a block of the folder's index, one of its names, one of the inode table (ext4 htree)")
)

var storageCrowdedFolder = diagnose.Rule{
	ID:    "storage/crowded-folder",
	Title: "One folder holds very many files",
	Measured: &diagnose.Measured{
		Needs:   []metric.Desc{metric.BenchFolder, metric.BenchItem, metric.BenchOpen, metric.BenchPerFile},
		Limits:  limits(crowd, ordinaryOpen, ordinaryColdOpens),
		Applies: func(p *diagnose.Pass) bool { return mayReach(p, metric.DatasetFileN, crowd.Value) },
		Eval:    crowdMeasured,
	},
}

func crowdMeasured(p *diagnose.Pass) {
	files := p.Get(metric.BenchFolder)
	if files < p.Limit(crowd) {
		return
	}
	before, state := settled(p)
	open, usual := p.Get(metric.BenchOpen), p.Limit(ordinaryOpen)
	if state == "cold" {
		if coldOpen, latency, ok := both(p, metric.BenchColdOpen, metric.BenchLatency); ok {
			open, usual = coldOpen, usual+p.Limit(ordinaryColdOpens)*latency
		}
	}
	score := 0.0
	if p.OpensPerItem() && before.Center > 0 {
		score = share(open / before.Center)
	}
	summary := fmt.Sprintf("One folder holds %s files; opening one takes %s (%s)", unit.Number(files),
		unit.Seconds(open), state)
	to, why := "shards, or subfolders of some thousand files",
		"a start of training then lists little, and a server looks names up among few"
	if open > usual {
		summary += fmt.Sprintf(", where %s are usual", unit.Seconds(usual))
	} else {
		summary += ", no more than elsewhere"
	}
	if score < diagnose.Moderate.Value {
		score = 0
		summary += "; listing the folder takes time at each start"
	} else {
		summary += fmt.Sprintf(": %s of an item's time", unit.Percent(score))
		if open <= usual {
			to, why = "shards of 100 MiB or more",
				"nothing is opened for each item then, and a start of training lists little"
		}
	}
	p.Report(report.Finding{
		Severity: cautious(score), Score: score, Summary: summary,
		Evidence: seen(p, metric.BenchFolder, metric.BenchOpen, metric.BenchColdOpen, metric.BenchItem,
			metric.BenchColdItem, metric.DatasetFileN),
		Recommendations: []report.Recommendation{{Setting: "files in one folder", From: new(unit.Number(files)), To: to,
			Why: why}},
	})
}
