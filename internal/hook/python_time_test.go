//go:build overhead

package hook_test

import (
	"fmt"
	"testing"
)

// hookStep are the nanoseconds of CPU time that docs/launch.md promises a step to cost where workers make its batch:
// 0.3 % of a step of 1 ms.
const hookStep = 3000

// TestHookCostsAStepLittle measures the wrappers against the bare DataLoader by turns in one run. The step is nothing
// but 4 small items, the most that a wrapper can show in; the least of many rounds is what others on the machine leave
// alone.
func TestHookCostsAStepLittle(t *testing.T) {
	e := listenAlone(t)
	var bare, stepped, hooked, bareEnds, steppedEnds, hookedEnds float64
	e.figures("steptime.py", &bare, &stepped, &hooked, &bareEnds, &steppedEnds, &hookedEnds)
	fmt.Printf("%.2f µs a step bare, %.2f µs where workers load, %.2f µs where none do\n", bare/1e3, stepped/1e3,
		hooked/1e3)
	fmt.Printf("an epoch's begin and end: %.2f ms bare, %.2f where workers load, %.2f where none do\n", bareEnds/1e6,
		steppedEnds/1e6, hookedEnds/1e6)
	// 4.2 to 7.7 µs on two CPUs of an AMD EPYC with Python 3.11 and PyTorch 2.15: missed, docs/launch.md says why.
	if stepped-bare > hookStep {
		t.Errorf("the hook costs a step %.2f µs where workers load its batch, promised %.1f", (stepped-bare)/1e3,
			hookStep/1e3)
	}
	// 1.18 on that machine.
	if hooked > 2*bare {
		t.Errorf("a step of %.2f µs takes %.2f µs with the hook", bare/1e3, hooked/1e3)
	}
}
