//go:build frameworks

package hook_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestHookLeavesCompilingAlone: inductor, export and batches in any order give what they give without the hook, with as
// many graphs, breaks and frames; and the hook is reported each loader. It needs a C++ compiler, as inductor does.
func TestHookLeavesCompilingAlone(t *testing.T) {
	e := listen(t)
	file := script(t, "compiled.py")
	// Each run makes its own graphs and code; what the C++ compiler made of the same code the second takes over.
	plain := []string{"TORCHINDUCTOR_CACHE_DIR=" + t.TempDir(), "TORCHINDUCTOR_FX_GRAPH_CACHE=0",
		"TORCHINDUCTOR_AUTOGRAD_CACHE=0", "TORCH_LOGS_FORMAT=%(levelname)s %(message)s"}
	want, got := run(t, append(os.Environ(), plain...), file), e.run(plain, file)
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(outcome{})); diff != "" || want.status != 0 {
		t.Errorf("status %d: %s\nwithout and with the hook (-without +with):\n%s", want.status, want.stderr, diff)
	}
	if !strings.Contains(want.stdout, "the slow one first: False") || !strings.Contains(want.stdout,
		"inductor graphs 2 ") {
		t.Errorf("without the hook:\n%s", want.stdout)
	}
	e.staysOn()
	made, steps := e.made(), map[any]float64{}
	for n := range made {
		taken, _ := e.steps(n)["steps"].(float64)
		steps[made[n]["line"]] += taken
	}
	if here := steps[float64(line(t, file, "# here"))]; here != 3*2*6 {
		t.Errorf("told of %v steps of the loop that trains", here)
	}
	last := made[len(made)-1]
	if last["line"] != float64(line(t, file, "# in any order")) || last["in_order"] != false {
		t.Errorf("the last loader was told as %v", last)
	}
}
