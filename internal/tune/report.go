package tune

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/predict"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/pkg/report"
)

// fill puts the result into the report's form.
func fill(out *report.Tuning, result Result, job Job) {
	out.Ended = result.Ended
	for _, r := range result.Rows {
		row := report.TuningRow{NumWorkers: r.Workers, PrefetchFactor: r.Prefetch, PersistentWorkers: r.Persistent,
			PinMemory: r.Pin, Present: r.Present, Alone: diagnose.Interval(r.Alone.Summary),
			InLoop: diagnose.Interval(r.InLoop.Summary), Forecast: r.Forecast,
			Score: score(r.InLoop.Summary, r.Forecast), Why: cmp.Or(r.InLoop.Why, r.Alone.Why)}
		if r.Batch > 0 {
			row.BatchSize = &r.Batch
		}
		for _, m := range []Rate{r.Alone, r.InLoop} {
			if m.N > 0 || m.Why != "" {
				row.MemoryBytes, row.ShmBytes = more(row.MemoryBytes, m.Memory), more(row.ShmBytes, m.Shm)
			}
		}
		out.Rows = append(out.Rows, row)
	}
	chosen := result.Rows[result.Chosen]
	out.Chosen, out.Outcome = &result.Chosen, report.TuningNothing
	if !result.Tried {
		out.Chosen, out.Outcome, out.Statement = nil, report.TuningNone, "No other setting was measured in the loop."
		return
	}
	if result.Unclear() {
		out.Chosen, out.Outcome = nil, report.TuningUnclear
		out.Statement = fmt.Sprintf("Not clear: rates varied too much, or too few steps came. A setting that "+
			"was measured may still be %.2f times as fast; measure again with a larger --budget, when the machine has "+
			"less else to do.", result.Open)
		return
	}
	before, after := result.Rows[0].InLoop, chosen.InLoop
	slower := ""
	if result.Disturbed {
		slower = fmt.Sprintf(" The loop as it is gave %.3g batches/s when it was watched and %.3g beside the other "+
			"settings: other programs slowed it down, or files that were read for the first time.", job.Rate.Center,
			before.Center)
	}
	if chosen.Present {
		out.Statement = "Nothing to gain: no setting that was measured brings 3 %." + slower
		return
	}
	out.Outcome = report.TuningChange
	out.Gain = &report.Interval{Center: after.Center / before.Center, Lo: after.Lo / before.Hi,
		Hi: after.Hi / before.Lo}
	out.Statement = fmt.Sprintf("%.2f times as fast, measured in the loop.", out.Gain.Center) + slower
}

// score says how a forecast did, if there is one.
func score(s stat.Summary, f *report.Interval) string {
	switch {
	case f == nil || s.N == 0:
		return ""
	case s.Center > f.Hi:
		return string(report.Above)
	case s.Center < f.Lo:
		return string(report.Below)
	}
	return string(report.Inside)
}

// more is the larger of what is known.
func more(known *int64, n int64) *int64 {
	if n < 0 || known != nil && *known >= n {
		return known
	}
	return &n
}

// tunedSettings are those that tune measures.
var tunedSettings = []string{"num_workers", "prefetch_factor", "persistent_workers", "pin_memory"}

// Decide makes the setting that was chosen what the report comes to: it was measured, and what was forecast before
// gives way, as does what was said against it.
func Decide(r *report.Report) {
	if r.Tuning.Chosen == nil {
		return
	}
	changed := changes(r.Tuning)
	r.Plans, r.Joint = []report.Plan{}, nil
	if len(changed) > 1 { // each was measured with the others
		r.Joint = changed[0].Effect
	}
	r.Decisions = slices.DeleteFunc(r.Decided(), func(d report.Decision) bool {
		return slices.Contains(tunedSettings, d.Setting)
	})
	made := make([]report.Decision, 0, len(changed))
	for _, c := range changed {
		d := report.Decision{Recommendation: c, Outcome: report.ToChange}
		for _, f := range r.Findings {
			if slices.ContainsFunc(f.Recommendations,
				func(x report.Recommendation) bool { return x.Setting == c.Setting }) {
				d.Rules = append(d.Rules, f.Rule)
			}
		}
		made = append(made, d)
	}
	if r.Unshared(made) { // none of them may be made as it stands: each takes the workers along
		for i := range made {
			made[i].Hold, made[i].Caveat = report.HoldIterable, report.HoldIterable+"; compare the samples of an epoch"
		}
	}
	r.Decisions = append(r.Decisions, made...)
	for i := range r.Findings {
		f := &r.Findings[i]
		var kept []report.Recommendation
		for _, c := range f.Recommendations {
			j := slices.IndexFunc(changed, func(x report.Recommendation) bool { return x.Setting == c.Setting })
			switch {
			case j >= 0:
				c.To, c.With, c.Effect = changed[j].To, changed[j].With, changed[j].Effect
			case slices.Contains(tunedSettings, c.Setting):
				continue
			}
			kept = append(kept, c)
		}
		f.Recommendations = kept
		diagnose.Retract(f, func(u report.Unhelpful) bool {
			return slices.ContainsFunc(changed, func(c report.Recommendation) bool {
				return c.From != nil && u.Covers(c.Setting, *c.From, c.To)
			})
		})
	}
}

// changes are what leads from the present setting to the one that was chosen; each is to be made with the others, and
// has the effect of all.
func changes(t *report.Tuning) (list []report.Recommendation) {
	if t.Chosen == nil || t.Outcome != report.TuningChange {
		return nil
	}
	now, to := t.Rows[0], t.Rows[*t.Chosen]
	add := func(setting, from, value string) {
		if from != value {
			list = append(list, report.Recommendation{Setting: setting, From: &from, To: value,
				Why: "measured in the loop", Effect: &report.Effect{Metric: metric.BatchesPerS.Name,
					Unit: string(metric.BatchesPerS.Unit), Basis: report.Measured, Before: now.InLoop.Center,
					After: to.InLoop.Center, Lo: to.InLoop.Lo, Hi: to.InLoop.Hi}})
		}
	}
	add("num_workers", strconv.Itoa(now.NumWorkers), strconv.Itoa(to.NumWorkers))
	if to.NumWorkers > 0 {
		if now.NumWorkers > 0 || to.PrefetchFactor != predict.DefaultPrefetch {
			add("prefetch_factor", strconv.Itoa(now.PrefetchFactor), strconv.Itoa(to.PrefetchFactor))
		}
		add("persistent_workers", python(now.PersistentWorkers), python(to.PersistentWorkers))
	}
	add("pin_memory", python(now.PinMemory), python(to.PinMemory))
	for i := range list {
		for j, other := range list {
			if i != j {
				list[i].With = append(list[i].With, report.Value{Setting: other.Setting, To: other.To})
			}
		}
	}
	return list
}

func python(b bool) string {
	if b {
		return "True"
	}
	return "False"
}
