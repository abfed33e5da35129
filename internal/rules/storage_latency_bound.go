package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/predict"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var storageLatencyBound = diagnose.Rule{
	ID:       "storage/latency-bound",
	Title:    "Loading waits for one storage request after another",
	Resource: report.OnStorage,
	Needs:    []metric.Desc{metric.NumWorkers},
	Limits:   limits(storageLimit, leastFetched, gainLimit),
	Applies:  onDisk,
	Explains: []string{"loader/workers-too-few", "storage/cold-cache", "storage/rotational", "loader/workers-zero",
		"loader/slow-sample-blocks", "storage/fits-in-memory"},
	Eval: func(p *diagnose.Pass) {
		waits := waitsForStorage(p)
		if waits < p.Limit(storageLimit) || full(p) {
			return
		}
		summary := fmt.Sprintf("Loading waits for storage %s of its time, one request after another, while the "+
			"storage is not full", unit.Percent(waits))
		if latency, ok := p.Maybe(metric.DiskLatency); ok {
			summary += fmt.Sprintf(" (%s per request)", unit.Seconds(latency))
		}
		p.Report(report.Finding{
			Score: starved(p) * waits, Summary: summary,
			Evidence: seen(p, metric.WorkerStorage, metric.WorkerOpenWait, metric.MainStorage, metric.DiskLatency,
				metric.DiskQueue, metric.DiskReadRate, metric.BytesPerRead, metric.ReadsPerBatch, metric.CacheHits,
				metric.IOPressure),
			Recommendations: append(moreReaders(p), largerReads(p, "fewer, larger requests wait less often: pack "+
				"items, or read the items of a batch together in __getitems__")...),
		})
	},
	Measured: &diagnose.Measured{
		Needs: []metric.Desc{metric.BenchItem, metric.BenchColdItem, metric.BenchStorage, metric.BenchMemory,
			metric.BenchSerialReads, metric.BenchDeviceReads, metric.BenchLatency},
		Limits: limits(storageLimit, headroomLimit),
		Applies: func(p *diagnose.Pass) bool {
			_, known := p.Maybe(metric.BenchMemory)
			return onDisk(p) && (!known || diagnose.Outgrows(p.Evidence))
		},
		Eval: latencyMeasured,
	},
}

var headroomLimit = threshold("best rate over one request after another", 2, metric.Count,
	"derived: at twice the rate, half of the wait is latency and not the device's work")

func latencyMeasured(p *diagnose.Pass) {
	serial, waits := p.Get(metric.BenchSerialReads), p.Get(metric.BenchStorage)
	headroom := p.Get(metric.BenchDeviceReads) / serial
	if !outgrows(p) || serial <= 0 || waits < p.Limit(storageLimit) || headroom < p.Limit(headroomLimit) {
		return
	}
	cold, _ := p.Evidence.Get(metric.BenchColdItem)
	recs := []report.Recommendation{{Setting: "num_workers", To: "up to " + whole(min(headroom, 64)) +
		" requests in flight, whatever the number of cores",
		Why: fmt.Sprintf("the device gives %s random reads per second at its best and %s one after another; what one "+
			"worker gets stays the same", unit.Number(p.Get(metric.BenchDeviceReads)), unit.Number(serial)),
		Caveat: "each worker needs memory of its own"}}
	inOrder, _ := p.Evidence.Get(metric.BenchColdOrdered)
	if effect := quicker(cold.Summary, inOrder.Summary, report.Measured, ""); effect != nil {
		recs = append([]report.Recommendation{{Setting: "order of reading",
			To:  "large sequential pieces, shuffled within a buffer",
			Why: "the kernel reads ahead where items follow each other", Effect: effect}}, recs...)
	}
	p.Report(report.Finding{
		Score: share(waits * (1 - 1/headroom)),
		Summary: fmt.Sprintf("Storage has %s of an item's %s (cold): one request takes %s, and the next is asked for "+
			"only then", unit.Percent(waits), unit.Seconds(cold.Center), unit.Seconds(p.Get(metric.BenchLatency))),
		Evidence: seen(p, metric.BenchColdItem, metric.BenchItem, metric.BenchStorage, metric.BenchLatency,
			metric.BenchSerialReads, metric.BenchDeviceReads, metric.BenchDeviceRatio, metric.BenchAmplify,
			metric.BenchMemory),
		Recommendations: recs,
		Unhelpful:       tooLarge(p),
	})
}

// moreReaders recommends as many workers as the model asks for.
func moreReaders(p *diagnose.Pass) []report.Recommendation {
	loader, need, ok := moreNeeded(p)
	if !ok || need.Limit == predict.Serial {
		return nil
	}
	effect := loader.WithWorkers(need.Workers)
	if gain(effect) < gainLimit.Value {
		return nil
	}
	caveat := bound(need, loader) + memoryOf(p, loader, need.Workers)
	if usable := loader.UsableCPUs; usable > 0 && float64(need.Workers) > usable {
		caveat += "; PyTorch warns above one worker per core, which does not matter for workers that wait"
	}
	return []report.Recommendation{{Setting: "num_workers", From: new(whole(float64(loader.Setting.Workers))),
		To: whole(float64(need.Workers)), Why: "more requests in flight at once; " + why(loader, need), Caveat: caveat,
		Effect: effect}}
}
