package rules

import (
	"fmt"
	"strings"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var storageTmpfsIsNot = diagnose.Rule{
	ID:       "storage/tmpfs-is-not",
	Title:    "/tmp is not memory on this machine",
	Resource: report.OnStorage,
	Needs:    []metric.Desc{metric.NumWorkers, metric.StorageTmpfs},
	Limits:   limits(storageLimit, diagnose.MemoryShare),
	Applies:  underTmp,
	Eval: func(p *diagnose.Pass) {
		waits := waitsForStorage(p)
		if p.Get(metric.StorageTmpfs) >= 1 || waits < p.Limit(storageLimit) {
			return
		}
		to := "a tmpfs"
		if size, ok := p.Maybe(metric.DatasetBytes); ok {
			room, known := p.Maybe(metric.Available)
			if known && size > p.Limit(diagnose.MemoryShare)*room {
				return // it would not fit beside the job
			}
			to = "a tmpfs of at least " + unit.Bytes(size)
		}
		storageCause(waits,
			fmt.Sprintf("The dataset lies under /tmp, which is not a RAM disk here; loading waits for it %s of its "+
				"time", unit.Percent(waits)),
			report.Recommendation{Setting: "where the dataset lies", From: place(p), To: to,
				Why: "only a tmpfs is memory", Caveat: "it counts against the job's memory limit"},
			seen(p, metric.StorageTmpfs, metric.WorkerStorage, metric.MainStorage, metric.DatasetBytes,
				metric.Available)).report(p)
	},
	Measured: &diagnose.Measured{
		Needs: []metric.Desc{metric.StorageTmpfs, metric.BenchItem, metric.BenchColdItem, metric.BenchStorage,
			metric.BenchMemory, metric.DatasetBytes},
		Limits:  limits(storageLimit, diagnose.MemoryShare, firstEpoch),
		Applies: underTmp,
		Eval:    tmpfsMeasured,
	},
}

func underTmp(p *diagnose.Pass) bool { return strings.HasPrefix(p.Facts.Dataset, "/tmp/") }

func tmpfsMeasured(p *diagnose.Pass) {
	cold, warm, ok := firstEpochWaits(p)
	if !ok || p.Get(metric.StorageTmpfs) >= 1 {
		return
	}
	p.Report(report.Finding{
		Summary: fmt.Sprintf("The dataset lies under /tmp, which is not a RAM disk here: an item takes %s cold and "+
			"%s from memory", unit.Seconds(cold.Center), unit.Seconds(warm.Center)),
		Evidence: seen(p, metric.StorageTmpfs, metric.BenchColdItem, metric.BenchItem, metric.BenchStorage,
			metric.DatasetBytes, metric.BenchMemory),
		Recommendations: []report.Recommendation{{Setting: "where the dataset lies", From: place(p),
			To: "a tmpfs of at least " + unit.Bytes(p.Get(metric.DatasetBytes)), Why: "only a tmpfs is memory",
			Caveat: "it counts against the job's memory limit", Effect: clearly(quicker(cold, warm,
				report.Measured, "the first epoch only"))}},
	})
}
