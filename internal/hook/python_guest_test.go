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
	needTorch(t)
	t.Parallel()
	for _, mode := range []string{"logs", "raises", "recurses", "blocks", "logs further", "raises further",
		"leaves further"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			e := listen(t)
			args := append([]string{script(t, filepath.Join("hostile", "job.py"))}, strings.Fields(mode)...)
			want, got := run(t, without(), args...), e.run(nil, args...)
			diff := cmp.Diff(strings.Split(want.stdout, "\n"), strings.Split(got.stdout, "\n"))
			if diff != "" || want.status != 0 || got.status != 0 {
				t.Errorf("status %d without, %d with; stdout (-without +with):\n%s", want.status, got.status, diff)
				t.Logf("stderr with:\n%s", got.stderr)
			}
			if cases := strings.Count(want.stdout, "== "); cases < 60 {
				t.Errorf("%d cases", cases)
			}
			if off, ok := e.last("off", func(datagram) bool { return true }); ok {
				t.Errorf("the hook went off: %s", off.Reason)
			}
			if steps := e.steps(0); steps["steps"] != 6.0 {
				t.Errorf("told of the first loader: %v", steps)
			}
		})
	}
}

// TestHookLeavesWhatItWrapsAsItWas: attributes, copies, pickles, signatures and protocols of loaders, iterators and
// fetchers; and what a signal handler or another thread of the job throws comes through, as does its gc.disable().
func TestHookLeavesWhatItWrapsAsItWas(t *testing.T) {
	needTorch(t)
	t.Parallel()
	e := listen(t)
	file := script(t, "untouched.py")
	want, got := run(t, without(), file), e.run(nil, file)
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(outcome{})); diff != "" || want.status != 0 {
		t.Errorf("status %d (-without +with):\n%s", want.status, diff)
	}
	if strings.Count(want.stdout, "True True") != 5 {
		t.Errorf("without the hook:\n%s", want.stdout)
	}
	if off, ok := e.last("off", func(datagram) bool { return true }); ok {
		t.Errorf("the hook went off: %s", off.Reason)
	}
}
