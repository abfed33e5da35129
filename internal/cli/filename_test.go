package cli

import (
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/must"
)

func TestNodeNames(t *testing.T) {
	vars := map[string]string{"SLURM_JOB_ID": "47/11", "SLURM_NODEID": "3", "GROUP_RANK": "1"}
	env := Env{Getenv: func(name string) string { return vars[name] }}
	got := must.Get(nodeNames(env, []string{"a/%j-%n.json", "%p.md", "100%%.txt", "50%.md", "%x%"}))(t)
	if d := cmp.Diff([]string{"a/47_11-1.json", fmt.Sprint(os.Getpid(), ".md"), "100%.txt", "50%.md", "%x%"},
		got); d != "" {
		t.Error(d)
	}
	clear(vars)
	for _, name := range []string{"%j.json", "%n.json"} {
		if _, err := nodeNames(env, []string{name}); exitCode(err) != exitUsage {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := must.Get(nodeNames(env, []string{"%h.json"}))(t); got[0] == "%h.json" || got[0] == ".json" {
		t.Errorf("%q", got)
	}
}
