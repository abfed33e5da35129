package hook_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestHookKnowsTheStatefulDataLoader: torchdata's loader replaces all that is wrapped of PyTorch's. It gives the same batches, states and errors
// with the hook, which is told how it was made and what its workers did. Where the interpreter has no torchdata nothing can be tried:
// `make hook-newest` is with one that has.
func TestHookKnowsTheStatefulDataLoader(t *testing.T) {
	needTorch(t)
	if exec.Command(python, "-c", "import torchdata.stateful_dataloader").Run() != nil {
		t.Skipf("%s has no torchdata: make test-hook-newest runs this", python)
	}
	t.Parallel()
	e := listen(t)
	file := script(t, "stateful.py")
	methods := []string{"none", "fork", "spawn"}
	without, o := run(t, os.Environ(), append([]string{file}, methods...)...), e.run(nil, append([]string{file}, methods...)...)
	if diff := cmp.Diff(without, o, cmp.AllowUnexported(outcome{})); diff != "" || o.status != 0 {
		t.Errorf("status %d; without and with the hook (-without +with):\n%s", o.status, diff)
	}
	if off, ok := e.last("off", func(datagram) bool { return true }); ok {
		t.Errorf("the hook went off: %s", off.Reason)
	}
	const each = 5 // loaders that the job makes for one method
	for n, method := range methods {
		made := e.made()[n*each]
		if made["line"] != float64(line(t, file, "# here")) || made["items"] != 24.0 || made["batch_size"] != 4.0 {
			t.Errorf("%s: the loader was told as %v", method, made)
		}
		workers := []any{0.0, 2.0}[min(n, 1)]
		if made["num_workers"] != workers || n > 0 && made["start_method"] != method {
			t.Errorf("%s: the loader was told as %v", method, made)
		}
		if steps := e.steps(n * each); steps["steps"] != 6.0 || steps["samples"] != 24.0 {
			t.Errorf("%s: its steps were told as %v", method, steps)
		}
		work, _ := e.work(n * each)
		if work["items"] != 24 || work["fetches"] != 6 {
			t.Errorf("%s: its work was told as %v", method, work)
		}
	}
}
