package e2e

import (
	"slices"

	"github.com/pipetune/pipetune/pkg/report"
)

// launchCase is a job of the table, launched.
type launchCase struct {
	testCase
	opensAt string // pattern of the line in __getitem__ that opens an HDF5 file; one open an item is planted
	// what is seen from outside may differ: the hook distinguishes training from evaluation, or sees what cannot be
	// counted
	apart bool
}

// launchCases are launched: of each kind of figure that only the hook knows, one job.
var launchCases = []launchCase{
	{testCase: of("hdf5_reopened"), opensAt: `h5py\.File`},
	{testCase: of("workers_zero")},
	{testCase: of("workers_restart")},
	{testCase: of("slow_sample")},
	{testCase: of("control_keeps_up")},
	{testCase: testCase{name: "collate_loops", class: inputBound, wait: starved,
		planted: []string{"loader/collate-cost"}}},
	{
		testCase: testCase{name: "sampler_packs", class: inputBound, wait: starved,
			planted: []string{"loader/sampler-cost"}},
		apart: true, // from outside, drawing indices looks like the loop's own work
	},
	{
		testCase: testCase{
			name: "evaluation_each_epoch", class: append(keepsUp, report.InputBound, report.HostBound),
			wait:    [2]float64{0, 1},
			planted: []string{"job/evaluation-sequential"},
		},
		apart: true,
	},
}

// of returns a job of the table.
func of(name string) testCase {
	return cases[slices.IndexFunc(cases, func(c testCase) bool { return c.name == name })]
}

// launchVariations vary data, start methods and shapes, and have no recordings.
var launchVariations = []launchCase{
	{testCase: of("hdf5_per_item"), opensAt: `h5py\.File`},
	{testCase: of("hdf5_chunk_gzip")},
	{testCase: of("workers_few")},
	{testCase: of("cpu_decode")},
	{testCase: of("storage_throttled")},
	{testCase: of("noisy_neighbour")},
	{testCase: of("tight_shm")},
	{testCase: of("host_bound")},
	{testCase: of("gil_held")},
	{testCase: of("workers_restart_spawn")},
	{testCase: of("iterable_text")},
	{testCase: of("npz_chunks")},
	{testCase: of("tar_members")},
	{testCase: of("forkserver_few")},
	{testCase: of("ddp_two_ranks")},
	{testCase: of("numpy_batches"), apart: true},
	{testCase: of("control_large_batches")},
	{testCase: of("control_spawn_persistent")},
	{testCase: of("control_workers_zero")},
	{testCase: of("control_restart_cheap")},
	{testCase: testCase{name: "many_tensors", class: inputBound, wait: starved,
		planted: []string{"loader/many-tensors"}}, apart: true},
	// taking a batch is on the CPU in part, which is estimated from outside
	{
		testCase: testCase{
			name: "many_tensors_small_batches", script: "many_tensors",
			args:  []string{"--collate", "packed", "--batch-size", "8", "--step", "0.015"},
			class: inputBound, wait: starved, planted: []string{"loader/many-tensors"},
		},
		apart: true,
	},
	{testCase: of("many_tensors_named"), apart: true},
	{
		testCase: testCase{
			name: "many_tensors_packed", script: "many_tensors", args: []string{"--collate", "packed"},
			class: append(keepsUp, report.InputBound), wait: [2]float64{0, 0.2}, control: true,
		},
		apart: true,
	},
	{testCase: testCase{name: "wide_batches", class: inputBound, wait: starved,
		planted: []string{"loader/wide-batches"}}},
	{testCase: testCase{name: "pictures_oversized", class: inputBound, wait: starved,
		planted: []string{"image/oversized"}}},
	{testCase: testCase{name: "cpu_transforms", class: inputBound, wait: starved,
		planted: []string{"cpu/decode-bound"}}},
}
