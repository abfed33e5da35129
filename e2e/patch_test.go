//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/pkg/report"
)

// TestPatch launches jobs whose settings are literals, applies the patch as a person would, launches them again, and holds what came of it
// against the interval that was predicted.
func TestPatch(t *testing.T) {
	m := findMachine(t)
	for _, c := range []struct {
		name     string
		settings []string // that the patch must change
	}{
		{"literal_settings", []string{"num_workers"}},
		{"literal_restart", []string{"persistent_workers"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, err := newBench(m.python, m.root)
			if b.work != "" {
				defer os.RemoveAll(b.work)
			}
			if err != nil {
				t.Fatal(err)
			}
			before, err := m.reportOf(t.Context(), b, c.name, "before")
			if err != nil {
				t.Fatal(err)
			}
			if m.root != "" {
				// The source lies in the chroot, where pipetune does not look for it; that must be said, and no other file taken.
				if before.Patch != nil || !slices.ContainsFunc(before.Warnings, func(w string) bool { return strings.Contains(w, "could not be made a patch") }) {
					t.Errorf("a job in a chroot got the patch %+v, warnings %q", before.Patch, before.Warnings)
				}
				return
			}
			if before.Patch == nil || before.Patch.Diff == "" {
				t.Fatalf("no patch is offered: %+v", before.Patch)
			}
			for _, want := range c.settings {
				if !slices.ContainsFunc(before.Patch.Settings, func(s report.PatchedSetting) bool { return s.Setting == want && s.How != "elsewhere" }) {
					t.Errorf("the patch does not change %s: %+v", want, before.Patch.Settings)
				}
			}
			if out, err := patchCommand(b).CombinedOutput(); err != nil {
				t.Fatalf("patch -p1: %v: %s", err, out)
			}
			after, err := m.reportOf(t.Context(), b, c.name, "after")
			if err != nil {
				t.Fatal(err)
			}
			effect, err := predicted(before, c.settings)
			if err != nil {
				t.Fatal(err)
			}
			got, ok := after.Metrics[effect.Metric]
			if !ok {
				t.Fatalf("the second report has no %s", effect.Metric)
			}
			fmt.Printf("%s: %s %.2f, predicted %.2f (%.2f to %.2f), came true %.2f; %s\n", c.name, effect.Metric, effect.Before, effect.After, effect.Lo, effect.Hi, got.Center,
				settingsOf(before.Patch))
			if got.Center < effect.Lo || got.Center > effect.Hi {
				t.Errorf("%s is %.2f after the patch, predicted %.2f to %.2f", effect.Metric, got.Center, effect.Lo, effect.Hi)
			}
			if got.Center <= effect.Before {
				t.Errorf("%s is %.2f after the patch and was %.2f: not faster", effect.Metric, got.Center, effect.Before)
			}
		})
	}
}

func settingsOf(p *report.Patch) (text string) {
	for _, s := range p.Settings {
		text += fmt.Sprintf(" %s %s → %s (%s)", s.Setting, deref(s.From), s.To, s.How)
	}
	return text
}

func deref(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}

func patchCommand(b bench) *exec.Cmd {
	cmd := exec.Command("patch", "-p1", "-i", filepath.Join(b.work, "fix.patch"))
	cmd.Dir = b.work
	return cmd
}

// reportOf launches a job and returns its report; the patch, if any, lies in fix.patch of the work folder.
func (m machine) reportOf(ctx context.Context, b bench, name, when string) (*report.Report, error) {
	out := filepath.Join(b.work, when+".json")
	flags := []string{"-q", "--warmup", watchDrops.String(), "-o", out}
	if when == "before" {
		flags = append(flags, "-o", filepath.Join(b.work, "fix.patch"))
	}
	job := b.shell(b.showHook(), b.scriptArgs(testCase{name: name}, "--seconds", launchSeconds)...)
	if _, err := m.launch(ctx, b, flags, job.Args); err != nil {
		return nil, err
	}
	file, err := os.Open(out)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	rep, err := report.Decode(file)
	if err == nil && rep.Verdict == nil {
		err = errors.New("the report has no verdict")
	}
	return rep, err
}

// predicted is the effect that was promised for these settings: that of the plan whose patch it is, else the first recommendation of each, or all of
// them together.
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

// planned tells whether a patch changes just what a plan does.
func planned(p *report.Patch, plan *report.Plan) bool {
	changed := 0
	for _, s := range p.Settings {
		if s.How == report.PatchReplaced || s.How == report.PatchAdded {
			if !slices.ContainsFunc(plan.Changes, func(c report.Recommendation) bool { return c.Setting == s.Setting }) {
				return false
			}
			changed++
		}
	}
	return changed == len(plan.Changes)
}
