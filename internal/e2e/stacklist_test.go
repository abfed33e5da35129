//go:build e2e

package e2e

import "github.com/pipetune/pipetune/pkg/report"

// stack is one framework's way to load data, with the job of testdata/jobs/stacks that uses it.
type stack struct {
	name     string
	script   string   // without .py
	args     []string // of the script, beside those that plant
	launcher []string // arguments of the interpreter before the script
	setting  string   // the number of workers by the name that the framework's users set it by
	// the finding that comes first where items are slow, and the setting is what it recommends; "":
	// loader/workers-too-few
	first  string
	also   string // a finding that must be among the others there
	others bool   // of make e2e-others, whose environment has what it needs

	// known are misses of today, as "launched: verdict", each with its reason. A miss that is not among them fails the
	// test.
	known map[string]string
}

// plant is what is planted in a stack's job.
type plant struct {
	name    string
	args    []string // of the job
	class   []report.Class
	keepsUp bool
}

// One worker needs four times as long for a batch as the step takes, or has hardly anything to do.
var plants = []plant{
	{
		name: "slow items", args: []string{"--steps", "250", "--item", "4", "--step", "15", "--workers", "1"},
		class: inputBound,
	},
	{
		name: "keeps up", args: []string{"--steps", "400", "--item", "0.1", "--step", "40", "--workers", "1"},
		class: keepsUp, keepsUp: true,
	},
}

// plantQuick is said after what is planted: what the job prints depends on the number of steps alone.
var plantQuick = []string{"--item", "0", "--step", "0"}

var attachedIsPlain = map[string]string{"attached: setting": "from outside nothing tells who makes the loader"}

// The processes of torchdata's nodes and of batchgenerators are none of a DataLoader's: they are reported as what feeds
// the job, without the name of a setting. Launched, the waits for nodes are reported.
var (
	nodesAreNoLoader = map[string]string{
		"attached: setting": "none",
		"launched: finding": "none of a loader: what the processes do is not known, and the report says so",
		"launched: setting": "none",
	}
	augmentersAreNoLoader = map[string]string{
		"attached: setting": "none", "launched: setting": "none", "launched: line": "no DataLoader is made",
		"launched: keeping up, line": "no DataLoader is made",
	}
)

// inAnActor: Ray runs the loop in a thread of an actor's process, whose main thread waits for Ray, and passes on what
// it prints in lines of its own.
var inAnActor = map[string]string{
	"attached: finding": "none: whether a step waits is not known", "attached: setting": "none, for the same reason",
	"launched: finding": "none: whether a step waits is not known", "launched: setting": "none, for the same reason",
}

var twoRanks = []string{"-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"}

var stacks = []stack{
	{name: "PyTorch", script: "plain", setting: "num_workers"},
	{name: "Lightning", script: "lightning_fit", setting: "num_workers"},
	{name: "Accelerate", script: "accelerate_loop", setting: "num_workers"},
	{name: "Accelerate, dispatching", script: "accelerate_loop", args: []string{"--dispatch"}, setting: "num_workers"},
	{
		name: "Accelerate, two ranks dispatching", script: "accelerate_loop", args: []string{"--dispatch", "--wait"},
		launcher: twoRanks, setting: "num_workers", also: "job/one-process-feeds-all",
	},
	{name: "Accelerate, stateful", script: "accelerate_loop", args: []string{"--stateful"}, setting: "num_workers"},
	{name: "HF Trainer", script: "hf_trainer", setting: "dataloader_num_workers"},
	{name: "HF datasets", script: "hf_map", setting: "num_workers"},
	{
		name: "HF datasets, row by row", script: "hf_rows", first: "loader/rows-one-by-one",
		setting: "reading of the table",
		known: map[string]string{
			"attached: finding": "from outside a row's reading is CPU time like any other",
			"attached: setting": "none of the table, for that reason",
		},
	},
	{
		name: "PyArrow, a table for each item", script: "parquet_rows", first: "storage/chunk-read-again",
		setting: "opening the data file",
	},
	{name: "HF datasets, streaming", script: "hf_stream", setting: "num_workers"},
	{
		name: "HF datasets, too few shards", script: "hf_stream", args: []string{"--few"},
		first: "loader/fewer-shards-than-workers", setting: "shards of the dataset",
	},
	{name: "WebDataset", script: "webdataset_tar", setting: "num_workers"},
	{name: "StatefulDataLoader", script: "stateful", setting: "num_workers"},
	{name: "MosaicML Streaming", script: "streaming_mds", setting: "num_workers"},
	{name: "MONAI", script: "monai_cache", setting: "num_workers"},
	{name: "MONAI, threads", script: "monai_cache", args: []string{"--threads"}, setting: "num_workers"},
	{name: "timm", script: "timm_loader", setting: "num_workers"},
	{name: "PyTorch Geometric", script: "pyg_graphs", setting: "num_workers"},
	{name: "torchrun, two ranks", script: "ranks", args: []string{"--wait"}, launcher: twoRanks,
		setting: "num_workers"},
	{name: "batchgenerators", script: "augmenter", first: "job/feeders-too-few", setting: "num_processes",
		known: augmentersAreNoLoader},
	{name: "torchdata nodes", script: "nodes", first: "job/feeders-too-few", setting: "num_workers",
		known: nodesAreNoLoader},
	{name: "tf.data", script: "tf_data", first: "job/feeders-too-few", setting: "num_parallel_calls", others: true,
		known: augmentersAreNoLoader},
	{name: "Grain", script: "grain_loader", first: "job/feeders-too-few", setting: "worker_count", others: true,
		known: augmentersAreNoLoader},
	{name: "NVIDIA DALI", script: "dali_pipeline", first: "job/feeders-too-few", setting: "py_num_workers",
		others: true, known: augmentersAreNoLoader},
	{name: "ultralytics", script: "ultralytics_loader", setting: "workers", others: true, known: attachedIsPlain},
	{name: "Ray Train", script: "ray_train", setting: "num_workers", others: true, known: inAnActor},
}
