//go:build e2e

package e2e

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/pkg/report"
)

// fieldCase is a team's job (docs/field-reports.md) with the cures that must be recommended and what must be spoken
// against.
type fieldCase struct {
	launchCase
	cures   []cure
	against []string // settings that a larger value is ruled out of, or that no advice touches
}

// cure is a recommendation with a predicted effect.
type cure struct {
	rule    string // a pattern of the whole name
	setting string
	to      string // a pattern
}

// fieldSeconds is how long a launched case trains: three epochs or more of each, and a window that is not too short
// after the warm-up.
const fieldSeconds = "16"

var fieldCases = []fieldCase{
	{
		// Epochs are short enough for the restarts to cost what they cost there: on a machine that forks fast and joins
		// slowly they took 6 % of 128 slides.
		launchCase: teamsJob("a_bags", fieldSeconds, "--slides 48", "loader/workers-restart", "loader/collate-cost",
			"cpu/decode-bound"),
		cures: []cure{
			{"loader/workers-restart", "persistent_workers", `^True$`},
			{"hdf5/reopened-per-item", "opening the HDF5 file", `^once per worker and file`},
			{"loader/collate-cost", "collate_fn", `^one allocation`},
		},
		against: []string{"multiprocessing_context", "batch_size"},
	},
	{
		// Which of the two rules is for the library to say: a chunk of 1.25 MiB fits the 8 MiB that HDF5 2.0 caches.
		launchCase: teamsJob("b_mels", fieldSeconds, "", "hdf5/chunk-exceeds-cache", "hdf5/chunk-mismatch"),
		cures: []cure{
			{"hdf5/chunk-(exceeds-cache|mismatch)", "HDF5 chunk shape", `^1x64x64$`},
			{"job/evaluation-sequential", "num_workers of the evaluation's DataLoader", `^[1-9]`},
		},
		against: []string{"batch_size"},
	},
	{
		launchCase: teamsJob("c_mels_later", fieldSeconds, "", "loader/workers-too-few"),
		cures:      []cure{{"loader/workers-too-few", "num_workers", `^[2-9]$`}},
		against:    []string{"prefetch_factor", "batch_size"},
	},
	{
		launchCase: teamsJob("d_volumes", "24", "", "loader/workers-too-few", "loader/workers-restart"),
		cures: []cure{
			{"loader/workers-too-few", "num_workers", `^[2-9]$`},
			{"loader/workers-restart", "persistent_workers", `^True$`},
		},
		against: []string{"batch_size"},
	},
	{
		launchCase: teamsJob("e_faces", fieldSeconds, "", "cpu/decode-bound", "image/png-decode"),
		cures: []cure{
			{"cpu/decode-bound", "CPU time per batch in the workers", `^at most`},
			{"image/png-decode", "picture format", `^JPEG`},
		},
		against: []string{"prefetch_factor", "batch_size", "where the dataset lies"},
	},
}

func teamsJob(name, seconds, args string, planted ...string) launchCase {
	return launchCase{testCase: testCase{name: name, script: "cases/" + name, args: strings.Fields(args),
		class: inputBound, wait: starved, seconds: seconds, planted: planted}}
}

// TestCases launches the five teams' jobs and asks for what they found by hand, and that what does not hold of their
// reports is not followed. Attempts follow the policy of doc.go.
func TestCases(t *testing.T) {
	m := findMachine(t)
	var tries account
	defer tries.close(t)
	for _, c := range selected("E2E_JOBS", fieldCases) {
		if m.ctx.Err() != nil {
			return
		}
		t.Run(c.name, func(t *testing.T) {
			tries.measure(t, func(t *testing.T) (try, string) {
				l := m.launchOnce(t, c.launchCase)
				one := try{others: l.others, unshown: !c.shows(l.own.share())}
				c.holdAdvice(&one, l.rep)
				return one, fmt.Sprintf("%s by %s, input wait %.0f %%", verdictOf(l.rep), rulesOf(l.rep, 3),
					100*l.own.share())
			})
		})
	}
}

// holdAdvice holds a report to the verdict, and to what it advises.
func (c fieldCase) holdAdvice(t *try, r *report.Report) {
	c.holdRanked(t, r)
	for _, want := range c.cures {
		if why := want.missing(r); why != "" {
			t.wrongVerdict("%s", why)
		}
	}
	for _, setting := range c.against {
		if d := r.Decision(setting); d != nil && d.Outcome == report.ToChange && d.Hold != report.HoldCostsNothing {
			t.wrongVerdict("%s → %s is advised", setting, d.To)
		}
	}
}

// missing says why a cure is not recommended as it should be; "" where it is.
func (want cure) missing(r *report.Report) string {
	for _, f := range r.Findings {
		if !regexp.MustCompile("^(" + want.rule + ")$").MatchString(f.Rule) {
			continue
		}
		for _, c := range f.Recommendations {
			if c.Setting != want.setting || !regexp.MustCompile(want.to).MatchString(c.To) {
				continue
			}
			if e := c.Effect; e == nil || e.After <= e.Before || e.Hi < e.Lo {
				return fmt.Sprintf("%s: %s → %s has no effect that is a gain: %+v", f.Rule, c.Setting, c.To, c.Effect)
			}
			return ""
		}
		return fmt.Sprintf("%s does not recommend %s → %s", f.Rule, want.setting, want.to)
	}
	return "no finding " + want.rule
}
