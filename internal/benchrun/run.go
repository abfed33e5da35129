// Package benchrun is one run of bench-io: it surveys a dataset, has it measured, and puts together what was found with
// what follows from it.
//
// It promises that the parent process opens no path of the dataset: it may hang, and its files may be made to break
// their reader. It says nothing to a person, and leaves it to its caller to tell what an error means.
package benchrun

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"syscall"
	"time"

	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/evidence/bench"
	"github.com/pipetune/pipetune/internal/footprint"
	"github.com/pipetune/pipetune/internal/host"
	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/probe"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/rules"
	"github.com/pipetune/pipetune/internal/untrusted"
	"github.com/pipetune/pipetune/pkg/report"
)

// Options say what is measured.
type Options struct {
	probe.Options                         // CPUs, Layout, Spare and Key are filled in by the run
	Path            string                // of the dataset; absolute
	Look            dataset.SurveyOptions // Seed, Limit, Avoid and WalkOnly are filled in by the run
	Step, Transform time.Duration
	Tool            report.Tool
	Redact          untrusted.Redaction
}

// Run is one benchmark under way: Survey, Describe, and then Plan or Measure.
type Run struct {
	Options
	fs      procfs.FS
	runner  *isolate.Runner
	machine recording.Host
	storage *report.Storage // where the dataset lies; nil: could not be determined
	found   dataset.SurveyResult
	digest  string // of its items; "": not known
}

// New begins a run whose children runner starts.
func New(o Options, runner *isolate.Runner) *Run {
	r := &Run{Options: o, runner: runner}
	if mounts, err := r.fs.Mounts(); err == nil {
		if s, err := r.fs.StorageOf(mounts, o.Path); err == nil {
			r.Key = s.Mount.Point
		}
	}
	r.Spare = footprint.SpareFor(r.fs, os.Getpid())
	return r
}

// Folder checks that a folder to write into is there, an absolute path. A child is asked: a mount may hang.
func (r *Run) Folder(ctx context.Context, path string) error {
	paths := r.runner.Paths()
	defer paths.Close()
	info, err := paths.Stat(ctx, path, path)
	if err == nil && info.Mode&syscall.S_IFMT != syscall.S_IFDIR {
		return errors.New("it is no folder")
	}
	return err
}

// Describe says what machine this is, and where in it the surveyed dataset lies.
func (r *Run) Describe(ctx context.Context) error {
	self, err := r.fs.Open(os.Getpid())
	if err != nil {
		return fmt.Errorf("describing the machine: %w", err)
	}
	defer self.Close()
	paths := r.runner.PathsWithin(answerLimit)
	defer paths.Close()
	about := host.Options{FS: r.fs, Target: self.ID, Paths: paths, Redaction: r.Redact}
	if r.machine, _, err = host.Describe(about); err != nil {
		return err
	}
	if s, err := host.Storage(ctx, about, r.real()); err == nil {
		r.storage = &report.Storage{Path: s.Path, Kind: s.Kind, FSType: s.FSType, Devices: s.Devices}
	}
	r.CPUs = r.machine.CPUsUsable
	return nil
}

// real is the dataset's path without symbolic links where the survey reported it, for the mount table.
func (r *Run) real() string {
	for _, f := range r.found.Sample.Files {
		if name := string(f.Path); path.IsAbs(name) {
			return path.Dir(name)
		}
	}
	return r.Path
}

// Plan lists what Measure would do.
func (r *Run) Plan() []probe.Step { return probe.Plan(r.found.Sample, r.Options.Options) }

// Measure runs the probes, telling step how far they are, and reports what they found and what follows from it. An
// error says why there is not a single figure.
func (r *Run) Measure(ctx context.Context, step func(probe.Step, time.Duration)) (*report.Report, error) {
	before, busy, began := footprint.Used(r.runner), r.machineBusy(), time.Now()
	result, err := probe.Run(ctx, r.runner, r.found.Sample, r.Options.Options, step)
	if err != nil {
		return nil, err
	}
	for i, c := range result.Rows.Tried {
		result.Rows.Tried[i].Command = expandable(untrusted.Path(c.Command, r.Redact))
	}
	sample := r.found.Sample
	if sample.Kind == dataset.HDF5 && !sample.Members && r.found.Files == 1 && len(sample.Files) == 1 {
		r.digest = dataset.DigestAt(ctx, r.runner, r.Key, string(sample.Files[0].Path),
			dataset.DigestRequest{Dataset: sample.Dataset})
	} else if r.found.Files > 1 {
		r.digest = dataset.DigestAt(ctx, r.runner, r.Key, r.Path, dataset.DigestRequest{})
	}
	out := r.report(result)
	// Reading is the work here, so its CPU time is no overhead to the dataset.
	used, took := footprint.Used(r.runner), time.Since(began)
	own := used.CPU - before.CPU
	out.Tool.Overhead = &report.Overhead{MaxRSSBytes: used.Peak, CPURatio: own / took.Seconds()}
	r.beside(out, busy, own, took)
	e := bench.Evidence(out, result.Rows)
	diagnose.Bench(out, e, rules.All())
	diagnose.Forecast(out, e, diagnose.TrainingAhead{BatchSize: r.BatchSize, Step: r.Step, Transform: r.Transform})
	for i, command := range out.Next {
		out.Next[i] = expandable(command)
	}
	return out, nil
}

// expandable moves a home folder's ~ out of quotes, in which a shell does not expand it.
func expandable(command string) string { return strings.ReplaceAll(command, "'~/", "~/'") }
