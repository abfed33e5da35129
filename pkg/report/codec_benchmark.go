package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// probeNames and labelKeys are what measurements of this schema version may carry.
var (
	probeNames = []string{ProbeOpen, ProbeRead, ProbeDecode, ProbePython, ProbeScaling, ProbeDevice, ProbeBatch,
		ProbeHDF5, ProbeTry, ProbeTier}
	labelKeys = []string{LabelCache, LabelOrder, LabelHandle, LabelWorkers, LabelBound, LabelDecoder, LabelFormat,
		LabelVersion, LabelDepth, LabelBlock, LabelMode, LabelBatchSize, LabelGather, LabelChunkCache, LabelCandidate,
		LabelCommand, LabelTier}
)

// benchmark holds what bench-io adds to a report to the contract.
func (v *validator) benchmark(r *Report) {
	b := r.Benchmark
	if b == nil {
		if r.Kind == "bench-io" {
			v.fail("benchmark", "missing, though kind is bench-io")
		}
		return
	}
	v.word("benchmark.kind", b.Kind, "hdf5", "image", "npy", "tar", "other")
	v.finite("benchmark.budget_s", b.BudgetS)
	v.finite("benchmark.used_s", b.UsedS)
	v.ratio("benchmark.cold.cached_ratio", b.Cold.CachedRatio)
	for _, n := range []struct {
		what  string
		value *int64
	}{{"files", &b.Files}, {"bytes", &b.Bytes}, {"items", b.Items}, {"item_bytes", b.ItemBytes},
		{"largest_folder_files", &b.LargestDir}, {"sample.bytes", &b.Sample.Bytes}} {
		if n.value != nil && *n.value < 0 {
			v.fail("benchmark."+n.what, "negative")
		}
	}
	if l := b.Layout; l != nil {
		v.word("benchmark.layout.storage", l.Storage, "contiguous", "chunked", "compact", "virtual", "external")
	}
}

// measurement holds one figure to the contract. A report of a newer minor version may carry probes and labels that are
// not known here: readers pass over them.
func (v *validator) measurement(m Measurement, newer bool) {
	what := fmt.Sprintf("measurement %.40q of %.40q", m.Metric, m.Probe)
	if !newer {
		v.word("probe of "+what, m.Probe, probeNames...)
		for key := range m.Labels {
			if !slices.Contains(labelKeys, key) {
				v.fail(what, fmt.Sprintf("%.40q is not a known label", key))
			}
		}
	}
	if m.Metric == "" {
		v.fail(what, "has no metric")
	}
	v.finite(what, m.Value.Center, m.Value.Lo, m.Value.Hi)
	v.ratio(what+" confidence", &m.Value.Confidence)
	v.basis(what, m.Value.Basis)
	if m.Value.Lo > m.Value.Hi {
		v.fail(what, "interval upside down")
	}
}

// minor is the second number of a version, 0 where there is none.
func minor(version string) int {
	_, rest, _ := strings.Cut(version, ".")
	second, _, _ := strings.Cut(rest, ".")
	n, err := strconv.Atoi(second)
	if err != nil {
		return 0 // no number: held to the contract of this version
	}
	return n
}
