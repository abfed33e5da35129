package rules

import (
	"fmt"
	"strings"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var storageTmpfsIsNot = diagnose.Rule{
	ID:       "storage/tmpfs-is-not",
	Title:    "/tmp is not memory on this machine",
	Resource: report.OnStorage,
	Doc: `
## What it means
The dataset was put under /tmp, often in the belief that this is a RAM disk. It is one only where a tmpfs is mounted there (Fedora, Arch, Debian 13);
on many systems it is a plain folder on the system disk.

## How it is detected
The dataset's path begins with /tmp, the file system under it is not tmpfs, and loading waits for storage.

## How to mend it
Use /dev/shm or a tmpfs of one's own (mount -t tmpfs -o size=… tmpfs /mnt/ram), if the data fits in memory.

## When it is wrong
After the first epoch the page cache may hold the files anyway; the rule is quiet unless loading waits for storage.
`,
	Needs:   []metric.Desc{metric.NumWorkers, metric.StorageTmpfs},
	Limits:  limits(storageLimit),
	Applies: func(e *evidence.Evidence) bool { return strings.HasPrefix(e.Facts.Dataset, "/tmp/") },
	Eval: func(p *diagnose.Pass) error {
		waits := waitsForStorage(p)
		if p.Get(metric.StorageTmpfs) >= 1 || waits < p.Limit(storageLimit.Name) {
			return nil
		}
		to := "a tmpfs"
		if size, ok := p.Maybe(metric.DatasetBytes); ok {
			room, known := p.Maybe(metric.Available)
			if known && size > room {
				return nil // it would not fit
			}
			to = "a tmpfs of at least " + unit.Bytes(size)
		}
		score := starved(p) * waits
		rec := report.Recommendation{Setting: "where the dataset lies", From: place(p), To: to, Why: "only a tmpfs is memory",
			Caveat: "it counts against the job's memory limit"}
		if loader, ok := p.Loader(); ok {
			rec.Effect = loader.SavingUnthrottled(waits/2, waits)
		}
		p.Report(report.Finding{
			Severity: diagnose.Grade(score), Score: score,
			Summary:         fmt.Sprintf("The dataset lies under /tmp, which is not a RAM disk here; loading waits for it %s of its time", unit.Percent(waits)),
			Evidence:        seen(p, metric.StorageTmpfs, metric.WorkerStorage, metric.MainStorage, metric.DatasetBytes, metric.Available),
			Recommendations: []report.Recommendation{rec},
		})
		return nil
	},
	Measured: &diagnose.Measured{
		How: `
The dataset's path begins with /tmp, no tmpfs is mounted there, and cold items wait for storage. It is worth knowing and no more: a dataset that fits in memory
comes from the page cache after the first epoch.
`,
		Needs:   []metric.Desc{metric.StorageTmpfs, metric.BenchItem, metric.BenchColdItem, metric.BenchStorage, metric.BenchMemory, metric.DatasetBytes},
		Limits:  limits(storageLimit, diagnose.MemoryShare, firstEpoch),
		Applies: func(e *evidence.Evidence) bool { return strings.HasPrefix(e.Facts.Dataset, "/tmp/") },
		Eval:    tmpfsMeasured,
	},
}

func tmpfsMeasured(p *diagnose.Pass) error {
	if p.Get(metric.StorageTmpfs) >= 1 || p.Get(metric.BenchStorage) < p.Limit(storageLimit.Name) || outgrows(p) || briefly(p) {
		return nil
	}
	cold, _ := p.Evidence.Get(metric.BenchColdItem)
	warm, _ := p.Evidence.Get(metric.BenchItem)
	p.Report(report.Finding{
		Severity: report.Info,
		Summary:  fmt.Sprintf("The dataset lies under /tmp, which is not a RAM disk here: an item takes %s cold and %s from memory", unit.Seconds(cold.Center), unit.Seconds(warm.Center)),
		Evidence: seen(p, metric.StorageTmpfs, metric.BenchColdItem, metric.BenchItem, metric.BenchStorage, metric.DatasetBytes, metric.BenchMemory),
		Recommendations: []report.Recommendation{{Setting: "where the dataset lies", From: place(p), To: "a tmpfs of at least " + unit.Bytes(p.Get(metric.DatasetBytes)),
			Why: "only a tmpfs is memory", Caveat: "it counts against the job's memory limit", Effect: quicker(cold.Summary, warm.Summary, report.Measured, "the first epoch only")}},
	})
	return nil
}
