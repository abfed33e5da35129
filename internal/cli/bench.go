package cli

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/probe"
)

// leastBudget is the shortest run that leaves each probe a few rounds.
const leastBudget = 2 * time.Second

// longestTime bounds a step and an item's transforms: what is longer is a slip of the unit.
const longestTime = time.Hour

// benchOptions are the flags of bench-io.
type benchOptions struct {
	presentation
	path      string
	dataset   string
	itemShape string
	budget    time.Duration
	seed      uint64
	workers   int
	batchSize int
	step      time.Duration
	transform time.Duration
	python    string
	scratch   string
	other     string
	block     int64
	try       bool
	list      bool
	follow    bool
	noCold    bool
	noRedact  bool

	shape []int64 // of itemShape
}

func newBench(env Env) *cobra.Command {
	o := &benchOptions{}
	c := &cobra.Command{
		Use:   "bench-io PATH",
		Short: "measure how fast a dataset can be opened, read and decoded here, and why not faster",
		Long: `bench-io measures what opening, reading and decoding one item of a dataset costs
here: cold and warm, in sequence and at random, in one worker process and in
several; what the storage could give at best; and what in the files' layout is
in the way. PATH is an HDF5 file or a folder of them, a folder of pictures, a
.npy file, WebDataset .tar files, or any other file, which is read as raw bytes.

It only reads. Files are opened in child processes with limits, so that a broken
file or a dead mount costs one child. Cold reads drop the sampled files from the
page cache, need no root, and are called cold only where that was verified.
--try rewrites a sample of at most 256 MiB in --scratch to measure what another
layout would bring, and removes it again.

The figures are those of this machine with what else runs on it: measure on the
node of the training, under the same CPU and memory limits. A ~ marks a figure
whose 95 % interval is wider than ±5 %; a larger --budget narrows it. --list
shows the plan and measures nothing.`,
		Example: `  pipetune bench-io /data/train.h5
  pipetune bench-io /data/train.h5 --try --budget 2m -o bench.md -o bench.json
  pipetune bench-io /data/imagenet/train --batch-size 64 -o bench.md
  pipetune bench-io /data/train.h5 --step-time 30ms --transform-time 2ms
  pipetune bench-io /data/train.h5 --compare-path /dev/shm
  pipetune bench-io /data/train.h5 --list`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] == "" {
				return fail(exitUsage, "give the file or folder that the training reads: pipetune bench-io PATH",
					"bench-io takes one path")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			o.path = args[0]
			if !c.Flags().Changed("seed") {
				o.seed = uint64(rand.Uint32()) // short enough to be typed again
			}
			return runBench(c.Context(), env, o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.dataset, "dataset", "", "HDF5: `NAME` of the dataset to read (default: the one training most "+
		"likely reads)")
	f.StringVar(&o.itemShape, "item-shape", "", "HDF5: read patches of this `SHAPE`, such as 1x224x224x3 (default: "+
		"one index of the first axis)")
	f.Int64Var(&o.block, "block-bytes", dataset.DefaultBlockBytes, "raw bytes: size of what is read at once")
	f.DurationVar(&o.budget, "budget", probe.DefaultBudget, "how long to measure, at the most")
	f.Uint64Var(&o.seed, "seed", 0, "of the random order and the sample (default: drawn, and said in the report)")
	f.IntVar(&o.workers, "workers", 0, "measure up to this many worker processes (0: by the usable CPUs)")
	f.IntVar(&o.batchSize, "batch-size", 0, "also measure gathering a whole batch of this many items, and predict a "+
		"DataLoader with it (default there: 32)")
	f.DurationVar(&o.step, "step-time", 0, "how long the training's step takes with its data at hand, such as 30ms: "+
		"for the predicted DataLoader")
	f.DurationVar(&o.transform, "transform-time", 0, "CPU time of the training's own transforms per item, such as "+
		"2ms: for the predicted DataLoader")
	f.StringVar(&o.python, "python", "auto", "`INTERPRETER` whose libraries are timed on the same files; auto: that "+
		"of a running job, else python3; none")
	f.BoolVar(&o.try, "try", false, "rewrite a sample into other layouts and measure each")
	f.StringVar(&o.scratch, "scratch", "", "`FOLDER` for --try (default: TMPDIR or /tmp)")
	f.StringVar(&o.other, "compare-path", "", "copy the sample to this `FOLDER` (tmpfs, NVMe, NFS) and measure it "+
		"there as well")
	f.BoolVar(&o.follow, "follow", false, "HDF5: follow external links, external storage and virtual datasets")
	f.BoolVar(&o.noCold, "no-cold", false, "leave the page cache alone: no cold reads")
	f.BoolVar(&o.list, "list", false, "show what would be measured, and do not measure")
	f.BoolVar(&o.noRedact, "no-redact", false, "keep user name, host name and folders as they are")
	o.addFlags(c)
	return c
}

func (o *benchOptions) check() error {
	switch {
	case o.budget < leastBudget:
		return fail(exitUsage, "the default is 60s", "--budget %s: at least %s is needed", o.budget, leastBudget)
	case o.workers < 0:
		return fail(exitUsage, "", "--workers %d: must not be negative", o.workers)
	case o.workers > 256:
		return fail(exitUsage, "", "--workers %d: at most 256", o.workers)
	case o.batchSize < 0:
		return fail(exitUsage, "", "--batch-size %d: must not be negative", o.batchSize)
	case o.step < 0 || o.step > longestTime:
		return fail(exitUsage, "give the time of one step: --step-time 30ms",
			"--step-time %s: must be between 0s and %s", o.step, longestTime)
	case o.transform < 0 || o.transform > longestTime:
		return fail(exitUsage, "give the time for one item: --transform-time 2ms",
			"--transform-time %s: must be between 0s and %s", o.transform, longestTime)
	case o.block < 512 || o.block > 256<<20:
		return fail(exitUsage, "", "--block-bytes %d: must be between 512 and 268435456", o.block)
	case o.scratch != "" && !o.try:
		return fail(exitUsage, "add --try", "--scratch %s: nothing is written without --try", o.scratch)
	}
	var err error
	o.shape, err = parseShape(o.itemShape)
	return err
}

// parseShape reads a shape such as 1x224x224x3; "" is none.
func parseShape(text string) ([]int64, error) {
	if text == "" {
		return nil, nil
	}
	var shape []int64
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == 'x' || r == ',' }) {
		n, err := strconv.ParseInt(strings.TrimSpace(part), 10, 64)
		if err != nil || n < 1 {
			return nil, fail(exitUsage, "write the length of each axis: 1x224x224x3",
				"--item-shape %q: %q is no length", text, part)
		}
		shape = append(shape, n)
	}
	if len(shape) == 0 || len(shape) > 32 { // 32 axes is HDF5's own limit, H5S_MAX_RANK
		return nil, fail(exitUsage, "write the length of each axis: 1x224x224x3",
			"--item-shape %q: between 1 and 32 axes", text)
	}
	return shape, nil
}
