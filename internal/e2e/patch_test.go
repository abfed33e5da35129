//go:build e2e

package e2e

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/pkg/report"
)

// patchCase is a job whose settings are literals, one of them a fault.
type patchCase struct {
	name     string
	settings []string // that the patch must change
}

// TestPatch launches jobs whose settings are literals, applies the patch as a person would, launches them again, and
// holds what came of it against the interval that was predicted.
func TestPatch(t *testing.T) {
	m := findMachine(t)
	var tries account
	defer tries.close(t)
	for _, c := range []patchCase{
		{"literal_settings", []string{"num_workers"}},
		{"literal_restart", []string{"persistent_workers"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tries.measure(t, func(t *testing.T) (try, string) { return m.patchOnce(t, c) })
		})
	}
}

// patchOnce launches a job, applies the patch and launches it again.
func (m machine) patchOnce(t *testing.T, c patchCase) (one try, figures string) {
	t.Helper()
	b := m.newGPUBench(t, testCase{name: c.name})
	before, others := b.reportOf(t, c.name, "before")
	one.others = others
	if m.root != "" {
		// The source lies in the chroot, where pipetune does not look for it; that must be said, and no other file
		// taken.
		if before.Patch != nil || !strings.Contains(strings.Join(before.Warnings, "\n"), "could not be made a patch") {
			one.wrongVerdict("a job in a chroot got the patch %+v, warnings %q", before.Patch, before.Warnings)
		}
		return one, "in a chroot"
	}
	if before.Patch == nil || before.Patch.Diff == "" {
		one.wrongVerdict("no patch is offered")
		return one, fmt.Sprintf("patch: %+v", before.Patch)
	}
	for _, want := range c.settings {
		if !slices.ContainsFunc(before.Patch.Settings, func(s report.PatchedSetting) bool {
			return s.Setting == want && s.How != "elsewhere"
		}) {
			one.wrongVerdict("the patch does not change %s", want)
		}
	}
	patch := exec.Command("patch", "-p1", "-i", filepath.Join(b.work, "fix.patch"))
	patch.Dir = b.work
	output(t, patch)
	after, others := b.reportOf(t, c.name, "after")
	one.others = max(one.others, others)
	effect := must.Get(predicted(before, c.settings))(t)
	got, ok := after.Metrics[effect.Metric]
	if !ok {
		t.Fatalf("the second report has no %s", effect.Metric)
	}
	if got.Center < effect.Lo || got.Center > effect.Hi {
		one.wrongFigure("%s is %.2f after the patch, predicted %.2f to %.2f", effect.Metric, got.Center, effect.Lo,
			effect.Hi)
	}
	if got.Center <= effect.Before {
		one.wrongFigure("%s is %.2f after the patch and was %.2f: not faster", effect.Metric, got.Center, effect.Before)
	}
	return one, fmt.Sprintf("%s %.2f, predicted %.2f (%.2f to %.2f), came true %.2f; %s", effect.Metric, effect.Before,
		effect.After, effect.Lo, effect.Hi, got.Center, settingsOf(before.Patch))
}

func settingsOf(p *report.Patch) (text string) {
	for _, s := range p.Settings {
		from := "-"
		if s.From != nil {
			from = *s.From
		}
		text += fmt.Sprintf(" %s %s → %s (%s)", s.Setting, from, s.To, s.How)
	}
	return text
}

// reportOf launches a job and returns its report, and how many cores others used meanwhile; the patch, if any, lies in
// fix.patch of the work folder.
func (b bench) reportOf(t *testing.T, name, when string) (*report.Report, float64) {
	t.Helper()
	out := filepath.Join(b.work, when+".json")
	flags := []string{"-q", "--warmup", watchDrops.String(), "-o", out}
	if when == "before" {
		flags = append(flags, "-o", filepath.Join(b.work, "fix.patch"))
	}
	job := b.shell(b.showHook(), b.scriptArgs(testCase{name: name}, "--seconds", launchSeconds)...)
	began := readCPU()
	_, cmd := b.launch(t, flags, job.Args)
	return judgedReport(t, out), began.others(readCPU(), cmd)
}

// predicted is the effect that was promised for these settings: that of the plan whose patch it is, else the first
// recommendation of each, or all of them together.
func predicted(rep *report.Report, settings []string) (*report.Effect, error) {
	if p := rep.Recommended(); p != nil && p.Effect != nil && planned(rep.Patch, p) {
		return p.Effect, nil
	}
	if len(rep.Patch.Settings) > len(settings) && rep.Joint != nil {
		return rep.Joint, nil
	}
	for _, f := range rep.Findings {
		for _, r := range f.Recommendations {
			if slices.Contains(settings, r.Setting) && r.Effect != nil {
				return r.Effect, nil
			}
		}
	}
	return nil, fmt.Errorf("no effect is predicted for %v", settings)
}

// planned reports whether a patch changes just what a plan does.
func planned(p *report.Patch, plan *report.Plan) bool {
	changed := 0
	for _, s := range p.Settings {
		if s.How == report.PatchReplaced || s.How == report.PatchAdded {
			if !slices.ContainsFunc(plan.Changes,
				func(c report.Recommendation) bool { return c.Setting == s.Setting }) {
				return false
			}
			changed++
		}
	}
	return changed == len(plan.Changes)
}
