//go:build e2e

package e2e

import (
	"slices"

	"github.com/pipetune/pipetune/pkg/report"
)

// launchCase is a job of the table, launched.
type launchCase struct {
	testCase
	opensAt string // pattern of the line in __getitem__ that opens an HDF5 file; one open an item is planted
	apart   bool   // what is seen from outside may differ: the hook tells training from evaluation, or sees what cannot be counted
}

// launchCases are the suite's jobs; what the outside look may miss there, the hook knows.
var launchCases = launchedSuite()

func launchedSuite() (out []launchCase) {
	for _, c := range suite {
		l := launchCase{testCase: c}
		switch c.name {
		case "hdf5_reopened":
			l.opensAt = `h5py\.File`
		case "control_spawn_persistent", "control_large_batches":
			continue // among the variations: nothing is planted that the hook would see in another way
		}
		out = append(out, l)
	}
	return append(out,
		launchCase{testCase: testCase{name: "collate_loops", class: inputBound, wait: starved, planted: []string{"loader/collate-cost"}}},
		launchCase{testCase: testCase{name: "evaluation_each_epoch", class: append(keepsUp, report.InputBound, report.HostBound), wait: [2]float64{0, 1},
			planted: []string{"job/evaluation-sequential"}}, apart: true})
}

// launchVariations run in `make e2e` only.
var launchVariations = func() (out []launchCase) {
	for _, c := range slices.Concat(suite, variations) {
		switch c.name {
		case "control_spawn_persistent", "control_large_batches", "workers_restart_spawn", "iterable_text", "forkserver_few", "ddp_two_ranks", "numpy_batches",
			"control_workers_zero", "control_restart_cheap":
			out = append(out, launchCase{testCase: c, apart: c.name == "numpy_batches"})
		case "hdf5_per_item":
			out = append(out, launchCase{testCase: c, opensAt: `h5py\.File`})
		}
	}
	return out
}()
