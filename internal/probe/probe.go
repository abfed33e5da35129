// Package probe measures how fast a dataset can be opened, read and decoded here: the active half of pipetune, and the
// whole of bench-io's measuring.
//
// It promises that every file of the dataset is opened in a child process only (package isolate), that nothing is
// written beside the scratch folder it was given, which it empties on every way out, that every figure carries its
// interval, and that what could not be measured is said with its reason. It refuses to call a read cold that was not
// seen to be cold.
package probe

import (
	"context"
	"time"

	"github.com/pipetune/pipetune/internal/benchmark"
	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/pkg/report"
)

// Options say what to measure. The zero value of a field has the meaning given with it.
type Options struct {
	Budget     time.Duration   // for all probes together; 0 is DefaultBudget
	Seed       uint64          // of the random order
	CPUs       float64         // usable CPUs: how far scaling goes (to at least 2, at most twice this); 0 is 1
	MaxWorkers int             // scaling goes up to this many processes; 0: chosen by CPUs
	BatchSize  int             // 0: no batch probe
	Python     []string        // interpreter and its arguments to time the user's own libraries with; nil: none
	NoCold     bool            // do not drop the sample's pages from the page cache
	Try        bool            // rewrite a sample into candidates and measure each
	Scratch    string          // folder for those; "" is os.TempDir()
	Other      string          // path of another tier to copy the sample to and measure; "" is none
	Layout     *dataset.Access // HDF5: the dataset that is read; nil for other kinds
	// Spare says how much memory, in bytes, the run may take beyond what it has, at the moment it is called; false
	// where nothing bounds it. nil: nothing does.
	Spare func() (int64, bool)
	Key   string // what children may get stuck on: the mount of the dataset
}

// DefaultBudget is what a run may take.
const DefaultBudget = 60 * time.Second

// Step is one thing a run measures, for --list and for progress.
type Step struct {
	Probe  string        // report.Probe…
	What   string        // "random reads, cold", for people
	Budget time.Duration // its share
}

// Result is everything that was measured.
type Result struct {
	Rows        benchmark.Rows
	Cold        report.Cold
	Unread      []report.Unread
	UnreadItems int                // of the sample
	Abstained   []report.Abstained // probes that could not run, and why
	Warnings    []string
	Interpreter string   // Python that was used, "" for none
	Libraries   []string // its libraries with their versions
	Used        time.Duration
	Interrupted bool // the context ended first; what was measured until then is here
}

// Plan lists what Run will do, in order.
func Plan(sample dataset.Sample, o Options) []Step { return newSession(nil, sample, o).plan() }

// Run measures. The context ends it early: what was measured until then comes back. The error says that nothing could
// be measured at all; a probe that fails is an entry in Abstained. at is called before each step; nil is allowed.
func Run(ctx context.Context, runner *isolate.Runner, sample dataset.Sample, o Options,
	at func(step Step, elapsed time.Duration)) (Result, error) {
	return newSession(runner, sample, o).run(ctx, at)
}
