package hook_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/must"
)

// loaderLibrary is a folder of packages with a library that makes loaders for its callers.
func loaderLibrary(t *testing.T) string {
	t.Helper()
	packages := filepath.Join(t.TempDir(), "site-packages")
	must.Do(t, os.Mkdir(packages, 0o700))
	library := `from torch.utils.data import DataLoader
def again(loader):
    return DataLoader(loader.dataset, batch_size=9)
def fresh(data):
    return DataLoader(data)
`
	must.Do(t, os.WriteFile(filepath.Join(packages, "library.py"), []byte(library), 0o600))
	return packages
}

// TestHookKnowsDatasetsAndNotAddresses: of a loader that a library makes, the line reported is that of the person's own
// loader over the same dataset, never that of one whose dataset had the same address before.
func TestHookKnowsDatasetsAndNotAddresses(t *testing.T) {
	e := listen(t)
	packages := loaderLibrary(t)
	file := script(t, "address.py")
	e.prints("made\n", []string{"PACKAGES=" + packages}, file)
	dropped, fresh, kept := float64(line(t, file, "# dropped")), float64(line(t, file, "# at a freed address")),
		float64(line(t, file, "# kept"))
	want := []any{
		dropped, fresh, kept, kept, // a dataset of its own has only the library's caller to name
		dropped, nil, kept, kept, nil, // where the dataset cannot be known again, no line is reported
	}
	var got []any
	for _, made := range e.made() {
		if len(got) > 0 && made["line"] == dropped && got[len(got)-1] == dropped {
			continue // it took several tries to have the address again
		}
		got = append(got, made["line"])
		if (made["line"] == nil) != (made["file"] == nil) {
			t.Errorf("line %v of file %v", made["line"], made["file"])
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines told of the loaders (-want +got):\n%s", diff)
	}
}

// TestHookAsksForNoLengthThatDoesSomething: the length of a dataset is asked for where that only looks at what is
// there, and what it raises is no affair of the job's or a reason for the hook to go off.
func TestHookAsksForNoLengthThatDoesSomething(t *testing.T) {
	e := listen(t)
	o := e.asWithout(nil, script(t, "lengths.py"))
	made := e.made()
	for n, said := range strings.Split(strings.TrimSpace(o.stdout), "\n") {
		if n >= len(made) {
			t.Fatalf("told of %d loaders", len(made))
		}
		items := "None"
		if known, ok := made[n]["items"].(float64); ok {
			items = fmt.Sprint(known)
		}
		if got := made[n]["dataset"].(string)[len("__main__."):] + " " + items; got != said {
			t.Errorf("told %q, want %q", got, said)
		}
	}
}

// TestHookCountsSamplesOfBatchesMadeInside: where the dataset makes the batches, what they cost is reported by sample
// as far as these can be counted.
func TestHookCountsSamplesOfBatchesMadeInside(t *testing.T) {
	e := listen(t)
	e.ran(nil, script(t, "inside.py"))
	for n, items := range []float64{40, 40, 20, 20, 5, 5} {
		if work, _ := e.work(n); work["items"] != items || work["fetches"] != 5 {
			t.Errorf("loader %d: %v, want %v items", n, work, items)
		}
	}
}

// TestHookCountsWhatThreadsDoAtOnce: threads that go over loaders at once are in nobody's way: nothing of what each did
// is lost, and whoever makes a loader's batches is reported as such.
func TestHookCountsWhatThreadsDoAtOnce(t *testing.T) {
	e := listenAlone(t) // a worker that ends waits 3 ms for its last message to be taken, and no longer
	e.prints("[]\n", nil, script(t, "threads.py"))
	e.staysOn()
	for n, epochs := range []float64{151, 151, 151, 151, 4, 4} {
		steps := e.steps(n)
		// Its last epoch may be reported with nothing after it.
		if taken, _ := steps["steps"].(float64); taken < 6*(epochs-1) || taken > 6*epochs {
			t.Errorf("loader %d: %v batches in %v epochs, want %v in %v", n, steps["steps"], steps["epochs"], 6*epochs,
				epochs)
		}
	}
	for n := 4; n < 6; n++ {
		if work, _ := e.work(n); work["items"] != 24 {
			t.Errorf("loader %d: its workers made %v items, want 24", n, work["items"])
		}
	}
}

// TestHookReadsWhatABatchIsMadeOf: tensors of which each sample has one, such as may be pictures, and of float64.
func TestHookReadsWhatABatchIsMadeOf(t *testing.T) {
	listen(t).prints("(224, 2, 0, 192, 0)\n(368, 9, 8, 192, 0)\n(160, 5, 0, 0, 0)\n(224, 5, 4, 192, 0)\n"+
		"(416, 1, 0, 0, 32)\n"+
		"(176, 8, 8, 0, 0)\nNone\nNone\nTrue True False False False False False 5 20 5 ", nil, script(t, "shapes.py"))
}

// TestHookCountsLookUpsToTheOpenBeforeThem: what is looked up by name in a file opened for the item is part of what
// opening it costs; in a file that stays open it is the item's own.
func TestHookCountsLookUpsToTheOpenBeforeThem(t *testing.T) {
	e := listen(t)
	e.prints("20\n", []string{"FOLDER=" + t.TempDir()}, script(t, "lookup.py"))
	const look = 5e6 // nanoseconds, at least
	if work, _ := e.work(0); work["opens"] != 10 || work["open_time"] < 10*look || work["reads"] != 10 {
		t.Errorf("opened per item: %v", work)
	}
	work, _ := e.work(1)
	if rest := work["item_time"] - work["open_time"]; work["opens"] != 1 || work["open_time"] < 2*look ||
		rest < 8*look {
		t.Errorf("opened once, and %.1f ms are not the open's: %v", rest/1e6, work)
	}
}

// What a step may execute of the hook's bytecode: measured on Python 3.11, and a tenth more, as other versions compile
// otherwise. `make overhead` measures the time that this takes.
const (
	shortStep   = 85  // where workers make the batch: a step that chance did not choose, as most are
	countedStep = 225 // where none do
)

// TestHookAddsFewInstructionsToAStep counts what the wrappers execute in the shortest of steps.
func TestHookAddsFewInstructionsToAStep(t *testing.T) {
	e := listen(t)
	var short, counted float64
	e.figures("cost.py", &short, &counted)
	t.Logf("%.0f instructions in a short step, %.0f in one whose work is counted", short, counted)
	if e.staysOn(); e.steps(0)["steps"] != 2000.0 {
		t.Errorf("the hook counted %v", e.steps(0))
	}
	// Of short batches one in 64 is timed in full, and all are counted.
	if work, _ := e.work(0); work["items"] != 8000 || work["fetches"] != 2000 || work["item_time"] <= 0 ||
		work["collate"] <= 0 || work["fetch_cpu"] <= 0 ||
		work["item_time"]+work["collate"] > work["fetch_time"] || work["fetch_cpu"] > work["fetch_time"] {
		t.Errorf("work of the first loader: %v", work)
	}
	if short > shortStep || counted > countedStep {
		t.Errorf("a step executes %.0f of the hook's instructions, allowed %d; with its work %.0f, allowed %d", short,
			shortStep, counted, countedStep)
	}
	if short < shortStep/2 || counted <= short {
		t.Errorf("%.0f and %.0f instructions: was the hook there at all?", short, counted)
	}
}

// TestHookKnowsWhoseWorkersAreWhereThreadsMakeThemAtOnce: a worker says the number of the loader that it was started
// for, whatever other threads start.
func TestHookKnowsWhoseWorkersAreWhereThreadsMakeThemAtOnce(t *testing.T) {
	e := listen(t)
	methods := []string{"spawn", "forkserver", "fork"}
	printed := e.ran(nil, append([]string{script(t, "turns.py")}, methods...)...)
	lines := strings.Split(strings.TrimSpace(printed), "\n")
	if len(lines) != len(methods) {
		t.Fatalf("the job printed %q", printed)
	}
	for i, method := range methods {
		var workers [2][]int
		must.Do(t, json.Unmarshal([]byte(lines[i]), &workers))
		for n, pids := range workers {
			if len(pids) != 1 {
				t.Fatalf("%s: workers %v", method, pids)
			}
			hello, ok := e.last("hello", func(d datagram) bool { return d.PID == pids[0] })
			if !ok || hello.Loader == nil || *hello.Loader != 2*i+n {
				t.Errorf("%s: the worker of loader %d said hello as %+v", method, 2*i+n, hello)
			}
			if work, ok := e.last("work", func(d datagram) bool { return d.PID == pids[0] }); !ok ||
				*work.Loader != 2*i+n || work.Work["items"] != 6.0 {
				t.Errorf("%s: the worker of loader %d told %+v", method, 2*i+n, work)
			}
		}
	}
}

// TestHookRestsAsAWorkerDoes: while a worker waits for its next batch, who looks from outside sees a wait as long as
// torch's own, which is what a wait for work is known by.
func TestHookRestsAsAWorkerDoes(t *testing.T) {
	e := listen(t)
	var seen, shortest int
	e.figures("rests.py", &seen, &shortest)
	if seen < 10 || shortest < 1000 {
		t.Errorf("%d polls, of at least %d ms; want 10 or more, of a second at least", seen, shortest)
	}
}

// TestHookTimesTheSampler: what each batch's indices take to draw, apart from the making and the taking of it.
func TestHookTimesTheSampler(t *testing.T) {
	e := listen(t)
	var longest float64
	e.figures("draws.py", &longest)
	for n := range 2 {
		steps := e.steps(n)
		drawn, _ := steps["drawn"].(float64)
		took, _ := steps["draw_time"].(float64)
		taken, _ := steps["taken"].(float64)
		if drawn < 3 || drawn != taken || took < 4e6*(drawn-4) || took > 2*longest*drawn {
			t.Errorf("loader %d, at most %v ns a draw: %v", n, longest, steps)
		}
	}
}
