package e2e

import (
	"cmp"
	"slices"

	"github.com/pipetune/pipetune/pkg/report"
)

// testCase is one job, what is planted in it, and what pipetune must therefore say.
type testCase struct {
	name    string         // unique; the script's name where it runs as written
	script  string         // below testdata/jobs, without .py; "": name
	args    []string       // other than planted in the script
	class   []report.Class // any of these is right
	planted []string       // rules that name the planted fault; one of them must come first or second
	control bool           // healthy: no finding of severity error
	// the input wait the fault must really cause, by the stop-watch; else it did not show, and is run again
	wait    [2]float64
	around  surroundings // what the runner does around the job
	seconds string       // how long the job trains; "": jobSeconds
	ranks   int          // that it starts, each with a GPU of its own; 0: one

	// unseen: the loader hands nothing over between processes, or to another thread, so input wait and batches/s may be
	// absent (never wrong).
	unseen bool

	// ranged: from outside the input wait is known as a range only, wider than a figure may be off, which is then to
	// hold it: without workers, and where it is for Python's global lock that next() waits or the step.
	ranged bool
}

func (c testCase) title() string { return c.name }

// file is the script below testdata/jobs.
func (c testCase) file() string { return cmp.Or(c.script, c.name) + ".py" }

// surroundings are what the runner puts around a job. Zero values: nothing.
type surroundings struct {
	cold       bool    // the data set is made first, and its pages are dropped
	readIOPS   int     // reads per second the block device grants the job
	readBPS    int     // bytes per second it grants
	neighbours int     // stress-ng CPU hogs beside the job, at its priority
	shmBytes   int64   // size of a tmpfs of its own on the job's /dev/shm
	quotaCPUs  float64 // CPU quota of the job's cgroup
	affinity   string  // CPU list the job is confined to
}

func one(c report.Class) []report.Class { return []report.Class{c} }

// Jobs whose step is the limit are gpu-bound where the GPU can be seen and balanced where it cannot; both are right
// here.
var (
	inputBound = one(report.InputBound)
	hostBound  = one(report.HostBound)
	keepsUp    = []report.Class{report.Balanced, report.GPUBound}

	starved = [2]float64{0.20, 1}
	fed     = [2]float64{0, 0.05}
)

// cases is the whole table.
var cases = append(slices.Clone(suite), variations...)

// live are the jobs that `make test` runs, those attached with PYTHON's PyTorch, those launched with the newest; a loop
// on the stand-in GPU is the fifth. Of the other rows of the suite it replays what was recorded (replay_test.go).
var live = map[string][]string{
	"TestJobs":   {"workers_few", "control_keeps_up"},
	"TestLaunch": {"hdf5_reopened", "workers_restart"},
}

// suite is each planted fault once, and three healthy jobs.
var suite = []testCase{
	{name: "hdf5_reopened", class: inputBound, wait: starved, planted: []string{"hdf5/reopened-per-item"}},
	{name: "hdf5_chunk_gzip", class: inputBound, wait: starved, planted: []string{"hdf5/chunk-exceeds-cache"}},
	{name: "workers_zero", class: inputBound, wait: starved, planted: []string{"loader/workers-zero"}, unseen: true,
		ranged: true},
	{name: "cpu_no_workers", class: inputBound, wait: starved, planted: []string{"loader/workers-zero",
		"cpu/decode-bound"}, unseen: true, ranged: true},
	{
		name: "control_cpu_no_workers", script: "cpu_no_workers", args: []string{"--in-memory", "1"}, class: hostBound,
		wait:    [2]float64{0, 0.12},
		planted: []string{"host/main-thread-bound"}, unseen: true,
	},
	{name: "workers_few", class: inputBound, wait: starved, planted: []string{"loader/workers-too-few"}},
	{name: "loaders_zipped", class: inputBound, wait: starved, planted: []string{"loader/workers-too-few"}},
	{name: "cpu_decode", class: inputBound, wait: starved, planted: []string{"cpu/decode-bound", "cpu/saturated"}},
	{
		name: "storage_throttled", class: inputBound, wait: starved, around: surroundings{cold: true, readIOPS: 100},
		planted: []string{"storage/saturated", "storage/latency-bound", "storage/cold-cache"},
	},
	{name: "workers_restart", class: inputBound, wait: starved, planted: []string{"loader/workers-restart"}},
	{name: "slow_sample", class: inputBound, wait: [2]float64{0.15, 1}, planted: []string{"loader/slow-sample-blocks"}},
	{
		name: "noisy_neighbour", script: "cpu_decode", args: []string{"--workers", "2", "--step", "0.05"},
		class: inputBound, wait: starved, around: surroundings{neighbours: 4},
		planted: []string{"cpu/noisy-neighbour"},
	},
	{
		name: "tight_shm", script: "large_batches", class: keepsUp, wait: fed,
		around:  surroundings{shmBytes: 128 << 20},
		planted: []string{"memory/shm-too-small"},
	},
	{name: "prefetch_thread", class: inputBound, wait: starved, unseen: true},
	{name: "feeders_pool", class: inputBound, wait: starved, planted: []string{"job/feeders-too-few",
		"cpu/decode-bound", "cpu/saturated"}, unseen: true},
	{name: "feeders_threads", class: inputBound, wait: starved, planted: []string{"job/feeders-too-few",
		"cpu/decode-bound", "cpu/saturated"}, unseen: true},
	{
		name: "starts_slowly", class: one(report.Inconclusive), wait: fed, args: []string{"--compile", "26"},
		control: true, unseen: true,
	},
	{name: "host_bound", class: hostBound, wait: [2]float64{0, 0.15}, planted: []string{"host/main-thread-bound"}},
	{name: "gil_held", class: []report.Class{report.InputBound, report.HostBound}, wait: starved,
		planted: []string{"host/gil-held"}, ranged: true},
	{name: "control_keeps_up", class: keepsUp, wait: fed, control: true},
	{name: "control_evaluates", class: keepsUp, wait: fed, control: true},
	{
		name: "control_large_batches", script: "large_batches", args: []string{"--batch-size", "64", "--step", "0.5"},
		class: keepsUp, wait: fed, control: true,
	},
	{
		name: "control_spawn_persistent", script: "workers_restart_spawn",
		args:  []string{"--set", "persistent_workers=True", "--step", "0.06"},
		class: keepsUp, wait: fed, control: true,
	},
}

// variations vary data, start methods and shapes, so that nothing is tuned to the suite.
var variations = []testCase{
	{name: "programs", class: inputBound, wait: starved, planted: []string{"loader/workers-too-few"}},
	{
		name: "many_tensors_named", script: "many_tensors",
		args:  []string{"--collate", "packed", "--batch-size", "8", "--step", "0.015", "--sharing", "file_system"},
		class: slices.Concat(keepsUp, inputBound), wait: [2]float64{0, 0.3}, control: true,
	},
	{
		name: "storage_small_files", class: inputBound, wait: starved, around: surroundings{cold: true, readIOPS: 150},
		planted: []string{"storage/small-files", "storage/saturated", "storage/latency-bound", "storage/cold-cache"},
	},
	{
		name: "storage_memmap", class: inputBound, wait: starved, around: surroundings{cold: true, readIOPS: 120},
		planted: []string{"storage/saturated", "storage/latency-bound", "storage/cold-cache"},
	},
	{
		name: "storage_bandwidth", script: "storage_throttled", class: inputBound, wait: starved,
		around:  surroundings{cold: true, readBPS: 8 << 20},
		planted: []string{"storage/saturated", "storage/cold-cache"},
	},
	{name: "workers_restart_spawn", class: inputBound, wait: starved, planted: []string{"loader/workers-restart",
		"loader/spawn-start-cost"}},
	{name: "hdf5_per_item", class: inputBound, wait: starved, planted: []string{"hdf5/reopened-per-item"}},
	{
		name: "png_folder", script: "cases/e_faces", class: inputBound, wait: starved,
		planted: []string{"image/png-decode", "cpu/decode-bound"},
	},
	{name: "remote_storage", class: inputBound, wait: starved, planted: []string{"storage/remote-wait"}},
	{
		name: "remote_timeout", script: "remote_storage", args: []string{"--timeout", "60"}, class: inputBound,
		wait: starved, planted: []string{"storage/remote-wait"},
	},
	{name: "control_remote", script: "remote_storage", args: []string{"--workers", "8"}, class: keepsUp,
		wait: [2]float64{0, 0.15}, control: true},
	{name: "checkpoints", class: append(keepsUp, report.HostBound), wait: fed,
		planted: []string{"job/checkpoint-pauses"}},
	{
		name: "control_checkpoints", script: "checkpoints", args: []string{"--background", "1"}, class: append(keepsUp,
			report.HostBound),
		wait: [2]float64{0, 0.15}, control: true,
	},
	{name: "iterable_text", class: inputBound, wait: starved, planted: []string{"loader/workers-too-few"}},
	{name: "npz_chunks", class: inputBound, wait: starved, planted: []string{"storage/chunk-read-again"}},
	{name: "npz_by_file", script: "npz_chunks", args: []string{"--by-file", "1"}, class: keepsUp, wait: fed,
		control: true},
	{name: "tar_members", class: inputBound, wait: starved, planted: []string{"storage/chunk-read-again"}},
	{name: "tar_kept", script: "tar_members", args: []string{"--keep", "1"}, class: keepsUp, wait: fed, control: true},
	{name: "forkserver_few", class: inputBound, wait: starved, planted: []string{"loader/workers-too-few"}},
	{name: "ddp_two_ranks", ranks: 2, class: inputBound, wait: starved, planted: []string{"loader/workers-too-few"}},
	{name: "numpy_batches", class: inputBound, wait: starved, planted: []string{"loader/workers-too-few"},
		unseen: true},
	{name: "workers_lock", class: inputBound, wait: starved, planted: []string{"loader/workers-share-a-lock"}},
	{name: "workers_pinned", class: inputBound, wait: starved, planted: []string{"loader/workers-pinned",
		"cpu/affinity"}},
	{
		name: "cpu_quota", script: "cpu_decode", class: inputBound, wait: starved, around: surroundings{quotaCPUs: 0.8},
		planted: []string{"cpu/quota-throttled"},
	},
	{
		name: "cpu_affinity", script: "cpu_decode", class: inputBound, wait: starved,
		around:  surroundings{affinity: "0"},
		planted: []string{"cpu/affinity"},
	},
	{name: "control_workers_zero", class: keepsUp, wait: fed, control: true, unseen: true},
	{name: "control_hdf5_once", class: keepsUp, wait: fed, control: true},
	{
		name: "control_restart_cheap", script: "workers_restart_spawn",
		args:  []string{"--set", "multiprocessing_context=fork", "--batch-size", "32", "--step", "0.07"},
		class: keepsUp, wait: [2]float64{0, 0.08}, control: true,
	},
	// A model that computes on the CPU is its own kind: the device is the host. Only input-bound would be wrong.
	{name: "control_model_on_cpu", class: append(keepsUp, report.HostBound), wait: [2]float64{0, 0.08}},
}
