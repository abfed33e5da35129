package hook_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestHookAsksTheJobForNothing goes over loaders of hostile classes: of batches, samplers, indices, collate functions,
// datasets, loaders and iterators all of whose methods note that they were called, and raise, recurse or block. Output,
// order, exceptions and the calls on each are the same with the hook and without, and the hook stays on.
func TestHookAsksTheJobForNothing(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"logs", "raises", "recurses", "blocks", "logs further", "raises further",
		"leaves further"} {
		t.Run(mode, func(t *testing.T) {
			e := listen(t)
			args := append([]string{script(t, filepath.Join("hostile", "job.py"))}, strings.Fields(mode)...)
			bare := make(chan outcome, 1)
			go func() { bare <- run(t, without(), args...) }() // beside it: most of their time is PyTorch's timeouts
			got := e.run(nil, args...)
			want := <-bare
			diff := cmp.Diff(strings.Split(want.stdout, "\n"), strings.Split(got.stdout, "\n"))
			if diff != "" || want.status != 0 || got.status != 0 {
				t.Errorf("status %d without, %d with; stdout (-without +with):\n%s", want.status, got.status, diff)
				t.Logf("stderr with:\n%s", got.stderr)
			}
			if cases := strings.Count(want.stdout, "== "); cases < 60 {
				t.Errorf("%d cases", cases)
			}
			e.staysOn()
			if steps := e.steps(0); steps["steps"] != 6.0 {
				t.Errorf("told of the first loader: %v", steps)
			}
		})
	}
}

// TestHookLeavesWhatItWrapsAsItWas: attributes, copies, pickles, signatures and protocols of loaders, iterators and
// fetchers; and what a signal handler or another thread of the job throws comes through, as does its gc.disable().
func TestHookLeavesWhatItWrapsAsItWas(t *testing.T) {
	if got := listen(t).asWithout(nil, script(t, "untouched.py")); strings.Count(got.stdout, "True True") != 5 {
		t.Errorf("the job printed:\n%s", got.stdout)
	}
}

// TestHookLeavesWhatIsHeld: a function that the job imported before PyTorch stays what its name means, so that it can
// be pickled; one that nobody holds is timed.
func TestHookLeavesWhatIsHeld(t *testing.T) {
	for held, opens := range map[string]bool{"1": false, "0": true} {
		t.Run("held "+held, func(t *testing.T) {
			e := listen(t)
			e.prints("56\n", []string{"HELD=" + held, "PICTURE=" + filepath.Join(t.TempDir(), "7.png")},
				script(t, "held.py"))
			e.staysOn()
			if work, _ := e.work(0); work["decodes"] > 0 != opens {
				t.Errorf("%v", work)
			}
		})
	}
}
