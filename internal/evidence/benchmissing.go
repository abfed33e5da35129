package evidence

import (
	"slices"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/pkg/report"
)

// probed says which probe a derived signal is from, so that the reason for a missing one can be told.
var probed = []struct {
	probe   string
	cold    bool // cold reads are needed
	signals []metric.Desc
}{
	{report.ProbeRead, false, []metric.Desc{metric.BenchItem, metric.BenchOrdered, metric.BenchRead, metric.BenchItemBytes}},
	{report.ProbeRead, true, []metric.Desc{metric.BenchColdItem, metric.BenchColdOrdered, metric.BenchStorage, metric.BenchAmplify}},
	{report.ProbeOpen, false, []metric.Desc{metric.BenchOpen, metric.BenchOpenRatio, metric.BenchLock}},
	{report.ProbeOpen, true, []metric.Desc{metric.BenchColdOpen}},
	{report.ProbeDecode, false, []metric.Desc{metric.BenchDecode, metric.BenchDecodeRatio}},
	{report.ProbeHDF5, false, []metric.Desc{metric.BenchReopened, metric.BenchFilter, metric.BenchFilterRatio, metric.BenchCacheSize, metric.BenchCacheGain,
		metric.BenchCacheOrdered, metric.BenchCacheOrderedGain}},
	{report.ProbeScaling, false, []metric.Desc{metric.BenchWorkers, metric.BenchEfficiency}},
	{report.ProbeDevice, false, []metric.Desc{metric.BenchSerialReads, metric.BenchDeviceReads, metric.BenchDeviceBytes, metric.BenchLatency, metric.BenchDeviceRatio}},
	{report.ProbePython, false, []metric.Desc{metric.BenchPython}},
	{report.ProbeTry, false, []metric.Desc{metric.BenchTryGain}},
	{report.ProbeTier, false, []metric.Desc{metric.BenchTierGain}},
}

// cures of probes that run only when asked.
var cures = map[string]string{report.ProbeTry: "--try", report.ProbeTier: "--compare-path OTHER", report.ProbePython: "--python INTERPRETER"}

// whyNot notes for each signal that is absent why it is.
func (b *benchBuilder) whyNot() {
	note := func(d metric.Desc, reason, cure string) {
		if _, ok := b.ev.values[d.Name]; !ok {
			b.ev.Unseen = append(b.ev.Unseen, recording.Unseen{Signal: d.Name, Reason: reason, Cure: cure})
		}
	}
	for _, row := range probed {
		probe := row.probe
		if probe == report.ProbeRead && b.ev.Bench.Undecoded {
			probe = report.ProbeDecode // an item is read and decoded
		}
		reason, cure := b.refused(probe)
		if row.cold && !b.about.Cold.Possible {
			reason, cure = "cold reads could not be measured", ""
			if b.about.Cold.Reason != "" {
				reason += ": " + b.about.Cold.Reason
			}
		}
		for _, d := range row.signals {
			note(d, reason, cure)
		}
	}
	const noRoom = "the memory that can still be used is not known"
	note(metric.Available, noRoom, "")
	note(metric.BenchMemory, noRoom, "")
	note(metric.BenchPerFile, "the items were not counted", "")
	note(metric.StorageNet, "the file system of the dataset could not be told", "")
	note(metric.StorageTmpfs, "the file system of the dataset could not be told", "")
	if l := b.about.Layout; l != nil && l.Storage != "chunked" {
		for _, d := range []metric.Desc{metric.HDF5Chunk, metric.HDF5PerChunk, metric.HDF5Touched, metric.HDF5Amplify, metric.HDF5Cache} {
			note(d, "the dataset is stored in one piece ("+l.Storage+"), not in chunks", "")
		}
	}
}

// abstention is what a probe said where it could not measure.
func (b *benchBuilder) abstention(probe string) (report.Abstained, bool) {
	for _, a := range b.report.Abstained {
		if slices.Contains(a.Missing, probe) {
			return a, true
		}
	}
	return report.Abstained{}, false
}

// refused tells why a probe gave no figure.
func (b *benchBuilder) refused(probe string) (reason, cure string) {
	if a, ok := b.abstention(probe); ok {
		return a.Reason, a.Cure
	}
	if b.about.Interrupted {
		return "the run was interrupted before the " + probe + " probe gave such a figure", ""
	}
	cure, asked := cures[probe]
	if asked {
		return "it was not asked for", cure
	}
	return "the " + probe + " probe gave no such figure in its time", "a larger --budget"
}
