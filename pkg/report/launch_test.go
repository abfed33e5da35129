package report

import (
	"errors"
	"math"
	"strings"
	"testing"
)

// launchedReport is the smallest with a patch and a loader that the hook reported.
func launchedReport() *Report {
	return &Report{Schema: Schema, SchemaVersion: SchemaVersion, Kind: "diagnose",
		Job: &Job{Mode: "launch", Loader: &Loader{Source: "hook", SlowItems: []SlowItem{{Index: 7, Seconds: 0.4,
			Times: 2}}}},
		Patch: &Patch{File: "train.py", Diff: "--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n",
			Settings: []PatchedSetting{{Setting: "num_workers", From: new("1"), To: "6", Line: 3, How: PatchReplaced}}}}
}

func TestLaunchIsValidated(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Report)
		want   string
	}{
		"good":             {func(*Report) {}, ""},
		"nothing to patch": {func(r *Report) { r.Patch.Diff, r.Patch.Settings[0].How = "", PatchElsewhere }, ""},
		"an unknown word":  {func(r *Report) { r.Patch.Settings[0].How = "maybe" }, `"maybe" is not a known word`},
		"a line below 0":   {func(r *Report) { r.Patch.Settings[0].Line = -1 }, "a line below 0"},
		"a diff that does nothing": {func(r *Report) { r.Patch.Settings[0].How = PatchAlready },
			"a diff that changes no setting"},
		"of a benchmark": {func(r *Report) { r.Kind = "bench-io" }, "of a bench-io"},
		"an item that took for ever": {func(r *Report) { r.Job.Loader.SlowItems[0].Seconds = math.Inf(1) },
			"not a finite number"},
	} {
		r := launchedReport()
		c.change(r)
		err := r.Validate()
		if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(),
			c.want)) {
			t.Errorf("%s: %v, not %q", name, err, c.want)
		}
	}
}
