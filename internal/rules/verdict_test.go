package rules

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/pkg/report"
)

// odd is evidence no machine would show: each signal there or not, each value anywhere, so that no rule may rely on
// another's sense.
func odd(seed uint64) *evidence.Evidence {
	dice := rand.New(rand.NewPCG(seed, 7))
	values := map[string]evidence.Value{}
	for _, d := range slices.Concat(metric.Derived, metric.HookDerived) {
		if dice.IntN(5) == 0 {
			continue
		}
		x := dice.Float64()
		if d.Unit != metric.Ratio {
			x = []float64{0, 1, 2, dice.Float64(), dice.Float64() * 100, dice.Float64() * 1e12, -1}[dice.IntN(7)]
		} else if dice.IntN(10) == 0 {
			x = []float64{0, 1, 1.5, -0.1}[dice.IntN(4)]
		}
		spread := dice.Float64()
		values[d.Name] = evidence.Value{Summary: stat.Summary{Center: x, Lo: x - spread*x, Hi: x + spread*x,
			Confidence: 0.95, N: dice.IntN(30)}}
	}
	yes, n := dice.IntN(2) == 0, dice.IntN(20)
	facts := evidence.Facts{DatasetKind: []string{"", "hdf5", "image"}[dice.IntN(3)], Extension: []string{"", ".png",
		".jpg"}[dice.IntN(3)],
		StartMethod: []string{"", "fork", "spawn"}[dice.IntN(3)], Dataset: []string{"", "/tmp/x",
			"/data/y z"}[dice.IntN(3)]}
	if dice.IntN(2) == 0 {
		facts.Persistent, facts.PinMemory, facts.Prefetch, facts.BatchSize = &yes, &yes, &n, &n
		facts.HDF5 = &evidence.HDF5{Name: "a b`c", Shape: "(10, 3)", Chunk: "x"}
	}
	if dice.IntN(2) == 0 {
		facts.Hook = oddHook(dice)
	}
	return evidence.New(values, facts)
}

// oddHook is what no job would tell of itself.
func oddHook(dice *rand.Rand) *evidence.Hook {
	yes, n := dice.IntN(2) == 0, dice.IntN(9)-1
	call := evidence.LoaderCall{Evaluates: !yes}
	call.Collate, call.File = []string{"", "default_collate", "a.b", "."}[dice.IntN(4)],
		[]string{"", "train.py"}[dice.IntN(2)]
	call.Line, call.Iterable = dice.IntN(3)-1, yes
	if dice.IntN(2) == 0 {
		call.NumWorkers, call.Prefetch, call.BatchSize, call.Persistent, call.PinMemory, call.InOrder = &n, &n, &n,
			&yes, &yes, &yes
	}
	sites := []evidence.Site{{Site: recording.Site{What: "item", File: "a b.py", Line: 3}, Calls: dice.Float64() * 100,
		Seconds: dice.Float64()}, {}}
	return &evidence.Hook{Torch: []string{"", "2.6.0+debian", "1.13.0a0", "x.y", "2"}[dice.IntN(5)], Loader: call,
		Others: []evidence.LoaderCall{call},
		Opens:  sites[:dice.IntN(3)], Syncs: sites[:dice.IntN(3)],
		Slow: []evidence.SlowItem{{Index: 7, Seconds: dice.Float64(), Times: n}, {}}[:dice.IntN(3)]}
}

// TestAnyEvidenceGivesAValidReport holds the engine and all rules to the schema and to their own promises, whatever was
// seen.
func TestAnyEvidenceGivesAValidReport(t *testing.T) {
	catalogue := All()
	for seed := range uint64(150) {
		e := odd(seed)
		r := diagnose.Run(e, catalogue)
		if err := r.Validate(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if len(r.Warnings) > 0 {
			t.Fatalf("seed %d: %v", seed, r.Warnings)
		}
		for _, f := range r.Findings {
			if f.Summary == "" || strings.Contains(f.Summary, "NaN") || strings.Contains(f.Summary, "%!") {
				t.Fatalf("seed %d: %s says %q", seed, f.Rule, f.Summary)
			}
			for _, c := range f.Recommendations {
				checkChange(t, seed, e, f.Rule, c)
			}
		}
	}
}

func checkChange(t *testing.T, seed uint64, e *evidence.Evidence, rule string, c report.Recommendation) {
	t.Helper()
	if c.Setting == "" || c.To == "" || c.Why == "" || strings.Contains(c.To+c.Why+c.Caveat, "%!") ||
		strings.Contains(c.To, "NaN") {
		t.Fatalf("seed %d: %s recommends %+v", seed, rule, c)
	}
	if diagnose.Workerless(e) && (c.Setting == "prefetch_factor" || c.Setting == "persistent_workers") {
		t.Fatalf("seed %d: %s recommends %s to a loader without workers", seed, rule, c.Setting)
	}
	if c.Setting == "num_workers" && (c.To == "0" || strings.HasPrefix(c.To, "-")) {
		t.Fatalf("seed %d: %s recommends num_workers %s", seed, rule, c.To)
	}
	if x := c.Effect; x != nil && (x.Lo > x.After || x.After > x.Hi || x.After < x.Before) {
		t.Fatalf("seed %d: %s predicts %+v", seed, rule, *x)
	}
}

// TestSameEvidenceSameReport: a verdict can be replayed.
func TestSameEvidenceSameReport(t *testing.T) {
	for seed := range uint64(20) {
		if diff := cmp.Diff(diagnose.Run(odd(seed), All()), diagnose.Run(odd(seed), All())); diff != "" {
			t.Fatalf("seed %d: two runs differ: %s", seed, diff)
		}
	}
}

// TestQuietWhileDataIsReady: with a data stall below 5 % no finding is an error, whatever else is seen.
func TestQuietWhileDataIsReady(t *testing.T) {
	for seed := range uint64(150) {
		e := odd(seed)
		if stall, ok := diagnose.Stall(e); ok && stall.Center >= diagnose.Moderate.Value {
			continue
		}
		for _, f := range diagnose.Run(e, All()).Findings {
			if f.Severity == report.Error {
				t.Errorf("seed %d: %s is an error although data is ready: %s", seed, f.Rule, f.Summary)
			}
		}
	}
}
