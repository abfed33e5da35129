package rules

import (
	"slices"
	"testing"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/pkg/report"
)

// A disk that is full of chunks read in vain is a symptom: the chunks stand first, whoever else uses the disk.
func TestChunksInVainRankBeforeTheDisk(t *testing.T) {
	c := must.Get(parseCase(`signal num_workers 8
signal input_wait_ratio 0.8
signal worker_busy_ratio 1
signal worker_idle_ratio 0
signal worker_running_ratio 0.3
signal worker_storage_wait_ratio 0.7
signal worker_cpu_ratio 0.3
signal usable_cpus 8
signal usable_cpu_busy_ratio 0.4
signal window_s 30
signal main_run_delay_ratio 0
signal host_ratio 0.1
signal device_ratio 0.1
signal disk_reads_per_s 4300
signal disk_read_bytes_per_s 540e6
signal disk_busy_ratio 1
signal disk_queue_depth 8
signal hdf5_filters 1
signal hdf5_chunk_bytes 2Mi
signal hdf5_cache_bytes 1Mi
signal hdf5_read_amplification 64
signal read_bytes_per_s 540e6
signal batch_bytes 1Mi
signal batches_per_s 8
fact dataset_kind hdf5
fact hdf5_filters gzip-4
`))(t)
	r := diagnose.Run(c.evidence, All())
	at := func(rule string) int {
		return slices.IndexFunc(r.Findings, func(f report.Finding) bool { return f.Rule == rule })
	}
	chunks, disk := at("hdf5/chunk-exceeds-cache"), at("storage/saturated")
	if chunks != 0 || disk < 0 || r.Findings[disk].Score > r.Findings[0].Score/2 {
		t.Errorf("chunks at %d, the disk at %d of %d findings", chunks, disk, len(r.Findings))
	}
	if r.Verdict.Rule != "hdf5/chunk-exceeds-cache" {
		t.Errorf("%s leads: %s", r.Verdict.Rule, r.Verdict.Statement)
	}
}

// Of large pictures only a measurement says what smaller ones would bring: the command stands there.
func TestLargePicturesPointToTry(t *testing.T) {
	r := benchmark(pictures("jpeg", 2000, 900<<10, 500), new(figures).read(0.0005, 0.003).decode(0.02, "libjpeg-turbo",
		"jpeg"))
	judgeBench(r)
	const command = "pipetune bench-io /data/train --try"
	if !slices.Contains(r.Next, command) || !slices.ContainsFunc(r.Abstained,
		func(a report.Abstained) bool { return a.Rule == "image/oversized" && a.Cure == command }) {
		t.Errorf("%q, %+v", r.Next, r.Abstained)
	}
	c := must.Get(parseCase("fact dataset_kind image\nfact dataset /data/my pictures"))(t)
	p := &diagnose.Pass{Evidence: c.evidence}
	if _, command := cheaperHow(p); command != "pipetune bench-io '/data/my pictures' --try" {
		t.Error(command)
	}
}
