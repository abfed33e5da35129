package rules

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/pkg/report"
)

// oddBench is a benchmark no machine would show.
func oddBench(seed uint64) *evidence.Evidence {
	dice := rand.New(rand.NewPCG(seed, 9))
	values := map[string]evidence.Value{}
	for _, d := range slices.Concat(metric.BenchDerived, metric.Derived) {
		if dice.IntN(6) == 0 {
			continue
		}
		x := []float64{0, 1e-6, 1, 2, dice.Float64(), dice.Float64() * 100, dice.Float64() * 1e12, -1}[dice.IntN(8)]
		spread := dice.Float64()
		values[d.Name] = evidence.Value{Summary: stat.Summary{Center: x, Lo: min(x, x-spread*x), Hi: max(x, x+spread*x),
			Confidence: 0.95, N: 1 + dice.IntN(30)}}
	}
	pick := func(words ...string) string { return words[dice.IntN(len(words))] }
	facts := evidence.Facts{DatasetKind: pick("hdf5", "image", "tar", "npy", ""), Extension: pick(".png", ".jpg", ""),
		StorageKind: pick("disk", "tmpfs", "network", ""), Dataset: pick("/tmp/x", "/data/y z", ""),
		FSType: pick("ext4", "")}
	if dice.IntN(2) == 0 {
		facts.HDF5 = &evidence.HDF5{Name: pick("a b`c", ""), Shape: pick("(10, 3)", "x", ""), Item: pick("(1, 3)", ""),
			Chunk: "x", Filters: pick("gzip", "")}
	}
	e := evidence.New(values, facts)
	value := func() evidence.Value { return values[metric.BenchDerived[dice.IntN(len(metric.BenchDerived))].Name] }
	e.Bench = &evidence.Bench{Bound: pick("cpu", "lock", "device", "none", ""), AsIs: evidence.Candidate{Item: value(),
		Cold: value()}}
	for _, name := range []string{"chunk-item", "contiguous", "chunk-item-unfiltered", "resized-256", "jpeg-90",
		"packed-tar", "packed-npy"} {
		if dice.IntN(2) == 0 {
			e.Bench.Candidates = append(e.Bench.Candidates, evidence.Candidate{Name: name, Item: value(), Cold: value(),
				Stored: value()})
			e.Bench.Decoders = append(e.Bench.Decoders, evidence.Decoder{Name: name, Item: value()})
		}
	}
	return e
}

// TestAnyBenchmarkGivesValidFindings holds the measured halves to the schema and to their own promises, whatever was
// measured, and the rules without one to silence.
func TestAnyBenchmarkGivesValidFindings(t *testing.T) {
	for seed := range uint64(400) {
		e := oddBench(seed)
		for _, rule := range All() {
			findings, abstained := diagnose.JudgeMeasured(&rule, e)
			if rule.Measured == nil && len(findings)+len(abstained) > 0 {
				t.Fatalf("seed %d: %s has no measured half, and gives %v %v", seed, rule.ID, findings, abstained)
			}
			whole := &report.Report{Kind: "diagnose", Findings: findings}
			if err := whole.Validate(); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			for _, f := range findings {
				if f.Summary == "" || strings.Contains(f.Summary, "NaN") || strings.Contains(f.Summary, "%!") ||
					strings.Contains(f.Summary, "–") {
					t.Fatalf("seed %d: %s says %q", seed, f.Rule, f.Summary)
				}
				if f.Severity != report.Info && f.Score < diagnose.Moderate.Value {
					t.Fatalf("seed %d: %s is %s with a score of %v", seed, f.Rule, f.Severity, f.Score)
				}
				for _, c := range f.Recommendations {
					checkChange(t, seed, e, f.Rule, c)
				}
			}
		}
	}
}
