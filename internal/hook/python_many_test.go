package hook_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/must"
)

// manyTasks is how many loaders many.py makes at its busiest line.
const manyTasks = 3000

// TestHookKeepsItsSizeInAJobThatMakesThousandsOfLoaders: what the hook keeps, and what each telling goes over, is
// bounded; no batch is lost by it, and each is reported under the line that made its loader.
func TestHookKeepsItsSizeInAJobThatMakesThousandsOfLoaders(t *testing.T) {
	e := listen(t)
	file := script(t, "many.py")
	var said struct {
		Taken map[string]float64
		Kept  map[string]any
	}
	must.Do(t, json.Unmarshal([]byte(e.ran(nil, file)), &said))
	for name, most := range map[string]float64{"loops": 128, "works": 128, "open": 16, "epochs": 64, "taken": 0} {
		if kept, ok := said.Kept[name].(float64); !ok || kept > most {
			t.Errorf("the hook keeps %v %s, want %v at most", said.Kept[name], name, most)
		}
	}
	if e.staysOn(); said.Kept["on"] != true {
		t.Error("the hook went off without a word")
	}
	lines := map[float64]string{}
	for _, name := range []string{"tasks", "stays", "crew", "pair", "last"} {
		lines[float64(line(t, file, "  # "+name+"\n"))] = name
	}
	steps, loaders, items := map[string]float64{}, map[string]float64{}, map[string]float64{}
	sizes := map[any]bool{}
	for n, made := range e.made() {
		name := lines[made["line"].(float64)]
		totals := e.steps(n)
		taken, _ := totals["steps"].(float64)
		had, _ := totals["loaders"].(float64)
		work, _ := e.work(n)
		steps[name] += taken
		loaders[name] += had
		items[name] += work["items"]
		if name == "tasks" && had > manyTasks/10 {
			sizes[made["items"]] = true
		}
		if made["batch_size"] == nil || made["file"] != file {
			t.Errorf("loader %d: %v", n, made)
		}
	}
	delete(steps, "last")
	if diff := cmp.Diff(said.Taken, steps); diff != "" {
		t.Errorf("batches by line (-taken +told):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]float64{"tasks": manyTasks, "stays": 1, "crew": 5, "pair": 10, "last": 1},
		loaders); diff != "" {
		t.Errorf("loaders by line (-made +told):\n%s", diff)
	}
	if items["crew"] != 5*8 {
		t.Errorf("workers of loaders made anew made %v items, want %v", items["crew"], 5*8)
	}
	if diff := cmp.Diff(map[any]bool{nil: true}, sizes); diff != "" {
		t.Errorf("items told of what loaders of several sizes share (-want +got):\n%s", diff)
	}
	for _, d := range e.received {
		if d.Untold != 0 {
			t.Fatalf("%d loaders were gone over untold", d.Untold)
		}
	}
	// What the receiver does not look at is lost, and the place of a loader for good.
	if cost := e.dearest(); cost > 400 {
		t.Errorf("messages of one process cost the receiver %d within a second, and it looks at 400", cost)
	}
}

// dearest is the most that the messages of one process cost the receiver within a second.
func (e *listener) dearest() int {
	most := 0
	for i, first := range e.received {
		cost := 0
		for _, d := range e.received[i:] {
			if d.PID == first.PID && d.At < first.At+1e9 {
				cost += 1 + d.bytes/1024
			}
		}
		most = max(most, cost)
	}
	return most
}

// TestHookCountsLoadersThatItCannotTell: of more kinds than it has numbers for it says how often they are gone over.
func TestHookCountsLoadersThatItCannotTell(t *testing.T) {
	e := listen(t)
	e.prints("True\n", nil, script(t, "kinds.py"))
	var untold int64
	numbers := map[int]bool{}
	for _, d := range e.received {
		untold = max(untold, d.Untold)
		if d.Loader != nil {
			numbers[*d.Loader] = true
		}
	}
	const kinds, room = 200, 128 - 1 // one is of the loader that stays
	if len(numbers) != room+1 || untold != 2*(kinds-room) {
		t.Errorf("%d loaders told of, %d times one was gone over untold; want %d and %d", len(numbers), untold, room+1,
			2*(kinds-room))
	}
	for n := 1; n <= room; n++ {
		if totals := e.steps(n); totals["steps"] != 8.0 || totals["loaders"] != 1.0 {
			t.Errorf("loader %d: %v", n, totals)
		}
	}
}
