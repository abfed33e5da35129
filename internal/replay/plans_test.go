package replay

import (
	"encoding/json"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/predict"
	"github.com/pipetune/pipetune/pkg/report"
)

// Whatever is planned is in order, above nothing that bounds it, and says the same as the findings do of the same
// change.
func TestPlansOfRecordings(t *testing.T) {
	planned := 0
	for _, path := range must.Get(filepath.Glob("../../testdata/recordings/*.jsonl"))(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			r := judged(t, path)
			must.Do(t, r.Validate())
			if r.Verdict.Class == report.Inconclusive { // the verdict says what is missing
				if r.Outlook != nil || len(r.Plans) > 0 {
					t.Errorf("plans of a job that is %s", r.Verdict.Class)
				}
				return
			}
			abstained := slices.ContainsFunc(r.Abstained, func(a report.Abstained) bool {
				return a.Rule == "plans" && a.Reason != ""
			})
			if (r.Outlook == nil) != abstained {
				t.Errorf("an outlook: %v, a reason why there is none: %v", r.Outlook != nil, abstained)
			}
			if r.Outlook == nil {
				return
			}
			planned++
			if worth := r.Outlook.Outcome == report.OutcomeWorthwhile; worth != (len(r.Plans) > 0) ||
				r.Outlook.Statement == "" {
				t.Errorf("%d plans, outcome %s: %q", len(r.Plans), r.Outlook.Outcome, r.Outlook.Statement)
			}
			if now := r.Outlook.Now; now.Before < now.Lo-1e-9 || now.Before > now.Hi+1e-9 {
				t.Errorf("the model's interval of what is does not hold what was seen: %+v", now)
			}
			last := 0.0
			for _, p := range r.Plans {
				checkPlan(t, r, p)
				if p.Effect.After < last {
					t.Errorf("%s reaches further than the plan before it and brings less", p.Name)
				}
				last = p.Effect.After
			}
		})
	}
	if planned < 6 {
		t.Errorf("plans or a word on them for %d recordings only", planned)
	}
}

func checkPlan(t *testing.T, r *report.Report, p report.Plan) {
	t.Helper()
	e := p.Effect
	if e == nil || !(e.Lo <= e.After && e.After <= e.Hi && e.Worthwhile()) || len(p.Changes) == 0 || p.Check == "" {
		t.Fatalf("%s: %+v", p.Name, p)
	}
	scale := 1.0
	if e.Metric == "samples_per_s" {
		scale = r.Metrics["samples_per_s"].Center / r.Metrics["batches_per_s"].Center
	}
	if most := scale / r.Metrics["free_step_time_s"].Lo; e.Hi > max(most, e.Before)*(1+1e-9) {
		t.Errorf("%s: up to %g, where the step allows %g", p.Name, e.Hi, most)
	}
	for _, c := range p.Changes {
		if no := r.RuledOut(c.Setting, c.From, c.To); no != nil {
			t.Errorf("%s changes %s to %s, of which the report says: %s", p.Name, c.Setting, c.To, no.Why)
		}
		workers := r.Job.Loader.NumWorkers
		only := workers != nil && *workers == 0 && slices.Contains(report.NeedWorkers, c.Setting)
		if c.Watch == "" || c.Caveat == "" || (c.Effect == nil) != only || !only && c.Effect.Metric != e.Metric {
			t.Errorf("%s: %+v", p.Name, c)
			continue
		}
		for _, f := range r.Findings {
			for _, same := range f.Recommendations {
				if same.Setting != c.Setting || same.To != c.To || same.Effect == nil || len(same.With) > 0 {
					// with others it is another change
					continue
				}
				if same.From != nil && c.From != nil && *same.From == *c.From && *same.Effect != *c.Effect {
					t.Errorf("%s → %s: the finding %s says %g to %g, the plan %g to %g", c.Setting, c.To, f.Rule,
						same.Effect.Lo, same.Effect.Hi, c.Effect.Lo, c.Effect.Hi)
				}
			}
		}
	}
}

func TestPlansOfALoaderThatKeepsUp(t *testing.T) {
	r := judged(t, "../../testdata/recordings/loader-keeps-up.jsonl")
	if r.Outlook == nil || len(r.Plans) != 0 || r.Outlook.Outcome == report.OutcomeWorthwhile {
		t.Errorf("%d plans: %+v", len(r.Plans), r.Outlook)
	}
}

func TestPlansAreRepeatable(t *testing.T) {
	path := "../../testdata/recordings/launched-no-workers.jsonl"
	one := must.Get(json.Marshal(judged(t, path)))(t)
	two, err := json.Marshal(judged(t, path))
	if err != nil || string(one) != string(two) {
		t.Errorf("two reports of one recording differ, %v", err)
	}
}

// What the model says of the loader as it is, is what the report reports it; and it is widened by the model's own
// error.
func TestModelSaysWhatReportsTell(t *testing.T) {
	const path = "../../testdata/recordings/launched-no-workers.jsonl"
	r, e := judged(t, path), evidenceOf(t, path)
	exact, why := diagnose.PlannedLoader(e, predict.Calibration{})
	wide, why2 := diagnose.PlannedLoader(e, predict.Calibration{Model: 0.3})
	if why != nil || why2 != nil {
		t.Fatal(why, why2)
	}
	if _, now, ok := exact.Predict(predict.Setting{}, predict.Remedy{}); !ok ||
		math.Abs(now.After/r.Outlook.Now.After-1) > 1e-3 {
		t.Errorf("the model has %+v of the loader as it is, the report %+v", now, r.Outlook.Now)
	}
	_, a, _ := exact.Predict(predict.Setting{Workers: 2}, predict.Remedy{})
	if _, b, _ := wide.Predict(predict.Setting{Workers: 2}, predict.Remedy{}); !(b.Lo < a.Lo*0.9 && b.Hi >= a.Hi &&
		a.After == b.After) {
		t.Errorf("an error of the model of 30 %% makes %+v of %+v", b, a)
	}
}

// Without batches that could be counted there is no rate to predict, and the cure is named.
func TestPlansNeedARate(t *testing.T) {
	r := judged(t, "../../testdata/recordings/no-workers.jsonl")
	i := slices.IndexFunc(r.Abstained, func(a report.Abstained) bool { return a.Rule == "plans" })
	if i < 0 || !slices.Contains(r.Abstained[i].Missing, "batches_per_s") || !strings.Contains(r.Abstained[i].Cure,
		"diagnose -- ") {
		t.Errorf("%+v", r.Abstained)
	}
}
