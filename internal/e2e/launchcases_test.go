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
	{testCase: starving(testCase{name: "collate_loops", planted: []string{"loader/collate-cost"}})},
	// from outside, drawing indices looks like the loop's own work
	{testCase: starving(testCase{name: "sampler_packs", planted: []string{"loader/sampler-cost"}}), apart: true},
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

// asInTable are jobs of the table, launched.
func asInTable(names ...string) (cases []launchCase) {
	for _, name := range names {
		cases = append(cases, launchCase{testCase: of(name)})
	}
	return cases
}

// starving is a job that lacks data.
func starving(c testCase) testCase {
	c.class, c.wait = inputBound, starved
	return c
}

// launchVariations vary data, start methods and shapes, and have no recordings.
var launchVariations = append(asInTable("hdf5_chunk_gzip", "workers_few", "cpu_decode", "storage_throttled",
	"noisy_neighbour", "tight_shm", "host_bound", "gil_held", "workers_restart_spawn", "iterable_text", "npz_chunks",
	"tar_members", "forkserver_few", "ddp_two_ranks", "control_large_batches", "control_spawn_persistent",
	"control_workers_zero", "control_restart_cheap"),
	launchCase{testCase: of("hdf5_per_item"), opensAt: `h5py\.File`},
	launchCase{testCase: of("numpy_batches"), apart: true},
	launchCase{
		testCase: starving(testCase{name: "many_tensors", planted: []string{"loader/many-tensors"}}),
		apart:    true,
	},
	// taking a batch is on the CPU in part, which is estimated from outside
	launchCase{
		testCase: testCase{
			name: "many_tensors_small_batches", script: "many_tensors",
			args:  []string{"--collate", "packed", "--batch-size", "8", "--step", "0.015"},
			class: inputBound, wait: starved, planted: []string{"loader/many-tensors"},
		},
		apart: true,
	},
	launchCase{testCase: of("many_tensors_named"), apart: true},
	launchCase{
		testCase: testCase{
			name: "many_tensors_packed", script: "many_tensors", args: []string{"--collate", "packed"},
			class: append(keepsUp, report.InputBound), wait: [2]float64{0, 0.2}, control: true,
		},
		apart: true,
	},
	launchCase{testCase: starving(testCase{name: "wide_batches", planted: []string{"loader/wide-batches"}})},
	launchCase{testCase: starving(testCase{name: "pictures_oversized", planted: []string{"image/oversized"}})},
	launchCase{testCase: starving(testCase{name: "cpu_transforms", planted: []string{"cpu/decode-bound"}})},
)
