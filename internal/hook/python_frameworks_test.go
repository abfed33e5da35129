//go:build frameworks

package hook_test

import (
	"fmt"
	"strings"
	"testing"
)

// needFrameworks fails where the interpreter has none, as Debian's: these tests are for scripts/python-env's.
func needFrameworks(t *testing.T, modules string) {
	t.Helper()
	if why := lacking(modules); why != "" {
		t.Fatalf("%s\nmake test-hook-newest runs this in an interpreter that has it", why)
	}
}

// TestHookKnowsTheStatefulDataLoader: torchdata's loader replaces all that is wrapped of PyTorch's. It gives the same
// batches, states and errors with the hook, which is reported how it was made and what its workers did.
func TestHookKnowsTheStatefulDataLoader(t *testing.T) {
	e := listen(t)
	needFrameworks(t, "torchdata")
	file := script(t, "stateful.py")
	methods := []string{"none", "fork", "spawn"}
	e.asWithout(nil, append([]string{file}, methods...)...)
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

// TestHookCountsShards: of the classes of two libraries it is reported how many shards there are to divide, of none
// that look like them, and nobody is asked.
func TestHookCountsShards(t *testing.T) {
	e := listen(t)
	needFrameworks(t, "datasets webdataset")
	o := e.run([]string{"HF_HUB_OFFLINE=1", "HF_HOME=" + t.TempDir()}, "-W", "ignore", script(t, "shards.py"))
	e.staysOn()
	if o.status != 0 {
		t.Fatalf("status %d, %s", o.status, o.stderr)
	}
	made, want := e.made(), strings.Fields(o.stdout)
	if len(made) != len(want)+1 {
		t.Fatalf("told of %d loaders, made %q and one", len(made), o.stdout)
	}
	for n, m := range made[:len(want)] {
		if got := strings.Replace(fmt.Sprint(m["shards"]), "<nil>", "None", 1); got != want[n] {
			t.Errorf("loader %d, %v: %s shards, want %s", n, m["dataset"], got, want[n])
		}
	}
}

// TestHookTellsWhatNodesAreWaitedFor: torchdata's nodes are no DataLoader. Their Loader gives the same with the hook,
// which reports its steps and where it is made, and no settings that it has not.
func TestHookTellsWhatNodesAreWaitedFor(t *testing.T) {
	e := listen(t)
	needFrameworks(t, "torchdata")
	file := script(t, "nodes.py")
	e.asWithout(nil, file)
	const each = 3 // loaders that the job makes for one method
	for n := range 3 {
		made := e.made()[n*each]
		if made["line"] != float64(line(t, file, "# here")) || made["class"] != "torchdata.nodes.loader.Loader" ||
			made["num_workers"] != nil || made["dataset"] != nil {
			t.Errorf("loader %d was told as %v", n*each, made)
		}
		// Two times over it, a batch by hand, and one that has_next looks ahead for.
		if steps := e.steps(n * each); steps["steps"] != 14.0 || steps["epochs"] != 2.0 || steps["wait"] == 0.0 {
			t.Errorf("the steps of loader %d were told as %v", n*each, steps)
		}
	}
}

// TestHookCountsRowsReadOneByOne: of Hugging Face's tables, in workers and without. Rows read together are none, and
// how long a transform of the job's own takes, or a picture's decoding, is not reading.
func TestHookCountsRowsReadOneByOne(t *testing.T) {
	e := listen(t)
	needFrameworks(t, "datasets")
	e.asWithout([]string{"HF_HUB_OFFLINE=1", "HF_HOME=" + t.TempDir()}, "-W", "ignore", script(t, "rows.py"))
	for n, rows := range []float64{20, 20, 20, 0, 0, 20} {
		work, _ := e.work(n)
		if work["rows"] != rows || (work["row_time"] > 0) != (rows > 0) || work["row_time"]+
			work["decode_time"] > work["fetch_time"] {
			t.Errorf("loader %d: %v, want %v rows", n, work, rows)
		}
		if decoded := n == 5; (work["decodes"] > 0) != decoded {
			t.Errorf("loader %d: %v pictures", n, work["decodes"])
		}
	}
}

// TestHookTimesTables: reading a table for each item is told apart from what an item is computed of.
func TestHookTimesTables(t *testing.T) {
	e := listen(t)
	file := script(t, "tables.py")
	e.prints("12720\n12720\n12720\n", []string{"FOLDER=" + t.TempDir()}, file)
	for n := range 2 {
		work, _ := e.work(n)
		if part := work["archive_time"] / work["item_time"]; !(part >= 0.8 && part <= 1) {
			t.Errorf("loader %d: %v", n, work)
		}
	}
	lines := map[int]bool{}
	for s := range e.sites("archive") {
		lines[s.Line] = true
	}
	for _, code := range []string{"int(pandas.read_parquet", "            pyarrow.parquet.read_table",
		"            self.array[index]"} {
		if !lines[line(t, file, code)] {
			t.Errorf("%s is not told; told are lines %v", code, lines)
		}
	}
}
