package diagnose

import (
	"slices"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/pkg/report"
)

// shortEpochs is a launched job whose one worker takes half a second for a batch and is started anew for each epoch of
// twenty, on eight quiet cores: to keep one worker saves next to nothing, to keep eight of them does.
func shortEpochs(workers int) (readings, evidence.Facts) {
	signals := with(starvingLoader, readings{"num_workers": float64(workers), "batches_per_s": 1.98,
		"free_step_time_s": 0.01, "worker_cpu_per_batch_s": 0.5, "input_wait_ratio": 0.97, "device_ratio": 0.02,
		"batch_fetch_s": 0.5, "batch_fetch_cpu_s": 0.5})
	facts := evidence.Facts{Framework: "pytorch", StartMethod: "fork", Persistent: new(false),
		Hook: &evidence.Hook{Torch: "1.13.1", Python: "3.11.2",
			Epoch: evidence.EpochCost{Batches: stat.Exact(20), Create: stat.Exact(0.012), First: stat.Exact(0.55),
				Drain: stat.Exact(0.008)}}}
	if workers == 0 {
		signals["batches_per_s"], facts.StartMethod, facts.Persistent = 1.96, "", nil
		facts.Hook.Epoch = evidence.EpochCost{Batches: stat.Exact(20)}
	}
	return signals, facts
}

// advises is a rule that finds so much at stake and recommends a change, with an effect of its own reckoning.
func advises(id string, score float64, change report.Recommendation, unhelpful ...report.Unhelpful) Rule {
	change.Why = "y"
	change.Effect = &report.Effect{Metric: "batches_per_s", Unit: "1/s", Before: 1.98, After: 2.5, Lo: 2, Hi: 3,
		Basis: report.Modelled}
	return always(id, report.Workers, report.Finding{Score: score, Recommendations: []report.Recommendation{change},
		Unhelpful: unhelpful})
}

// workers is a change of num_workers.
func workers(from, to string) report.Recommendation {
	return report.Recommendation{Setting: "num_workers", From: &from, To: to, Why: "y"}
}

func findingOf(t *testing.T, r *report.Report, rule string) report.Finding {
	t.Helper()
	i := slices.IndexFunc(r.Findings, func(f report.Finding) bool { return f.Rule == rule })
	if i < 0 {
		t.Fatalf("%s found nothing", rule)
	}
	return r.Findings[i]
}

// A change that brings nothing alone may be what a plan needs: no finding then says that it will not help.
func TestNothingIsPlannedThatWillNotHelp(t *testing.T) {
	signals, facts := shortEpochs(1)
	r := planned(t, signals, facts, advises("loader/workers-restart", 0.06,
		report.Recommendation{Setting: "persistent_workers", From: new("False"), To: "True"}))
	kept := 0
	for _, p := range r.Plans {
		for _, c := range p.Changes {
			if c.Setting == "persistent_workers" && c.To == "True" && !c.Effect.Worthwhile() {
				kept++
			}
			if no := r.RuledOut(c.Setting, c.From, c.To); no != nil {
				t.Errorf("%s changes %s to %s, of which the report says: %s", p.Name, c.Setting, c.To, no.Why)
			}
		}
	}
	if kept == 0 {
		t.Fatalf("no plan needs what brings nothing alone: %+v", r.Plans)
	}
	f := findingOf(t, r, "loader/workers-restart")
	if f.Score != 0 || len(f.Unhelpful)+len(f.WontHelp) > 0 {
		t.Errorf("got %+v", f)
	}
}

// What is to be changed along with a setting is simulated with it: without it, starting the workers anew may take all
// that they bring.
func TestWhatIsChangedAlongIsSimulated(t *testing.T) {
	set := workers("0", "8")
	signals, facts := shortEpochs(0)
	judged := func(set report.Recommendation) report.Recommendation {
		rule := advises("loader/workers-zero", 0.9, set)
		findings, _ := Judge(&rule, saw(facts, signals))
		if len(findings) != 1 || len(findings[0].Recommendations) != 1 {
			t.Fatalf("got %+v", findings)
		}
		return findings[0].Recommendations[0]
	}
	alone := judged(set)
	set.With = []report.Value{{Setting: "persistent_workers", To: "True"}}
	if a, b := alone.Effect.After, judged(set).Effect.After; b < 1.03*a {
		t.Errorf("%g with workers that stay, %g with workers that are started anew for each epoch of 20 batches", b, a)
	}
}

// What a finding that is left without any cure would have explained is not explained: the general finding has it back.
func TestEmptiedFindingExplainsNothing(t *testing.T) {
	depth := report.Recommendation{Setting: "persistent_workers", To: "False"}
	signals, facts := shortEpochs(1)
	facts.Persistent = new(true)
	special := advises("x/special", 0.9, depth)
	special.Explains = []string{"x/general"}
	r := planned(t, signals, facts, special, finds("x/general", 0.95, report.CPU))
	if f := findingOf(t, r, "x/special"); f.Score != 0 || len(f.Recommendations) != 0 {
		t.Fatalf("not emptied: %+v", f)
	}
	if f := findingOf(t, r, "x/general"); f.Score != 0.95 || f.Severity != report.Error ||
		r.Verdict.Rule != "x/general" {
		t.Errorf("%+v, %+v", f, r.Verdict)
	}
}

// A deeper queue that neither /dev/shm nor the memory has room for is not recommended, and the report says why.
func TestQueueNeedsRoom(t *testing.T) {
	deeper := advises("loader/prefetch-shallow", 0.2, report.Recommendation{Setting: "prefetch_factor",
		From: new("2"), To: "4"})
	for _, c := range []struct {
		name    string
		changes readings
		why     string // "": recommended
	}{
		{"room", readings{"available_memory_bytes": 64 << 30, "shm_free_bytes": 32 << 30}, ""},
		{"little /dev/shm", readings{"available_memory_bytes": 64 << 30, "shm_free_bytes": 1 << 30},
			"/dev/shm"},
		{"little memory", readings{"available_memory_bytes": 3 << 30, "shm_free_bytes": 32 << 30},
			"available memory"},
		{"room for one of eight trainers", readings{"ranks": 8, "available_memory_bytes": 64 << 30,
			"shm_free_bytes": 8 << 30}, "/dev/shm"},
	} {
		signals := with(starvingLoader, c.changes, readings{"batch_bytes": 1 << 30})
		f := findingOf(t, planned(t, signals, evidence.Facts{Prefetch: new(2)}, deeper), "loader/prefetch-shallow")
		kept := len(f.Recommendations) == 1
		if kept != (c.why == "") || !kept && (len(f.WontHelp) != 1 || !strings.Contains(f.WontHelp[0], c.why)) {
			t.Errorf("%s: %+v", c.name, f)
		}
	}
}
