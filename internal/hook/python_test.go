package hook_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/hook"
	"github.com/pipetune/pipetune/internal/must"
)

func TestHookTellsHowLoadersWereMade(t *testing.T) {
	e := listen(t)
	packages := loaderLibrary(t)
	file := script(t, "settings.py")
	e.prints("True 2 2\n", []string{"PACKAGES=" + packages, "RANK=3"}, file)
	hello, _ := e.last("hello", func(datagram) bool { return true })
	if hello.Rank == nil || *hello.Rank != 3 || !strings.HasPrefix(hello.Python, "3.") {
		t.Errorf("hello: %+v", hello)
	}
	at := func(text, function string) map[string]any {
		return map[string]any{"file": file, "line": float64(line(t, file, text)), "function": function}
	}
	want := []map[string]any{
		{
			"class": "torch.utils.data.dataloader.DataLoader", "num_workers": 0.0, "batch_size": 4.0,
			"drop_last": false, "persistent_workers": false, "pin_memory": false, "timeout": 0.0,
			"dataset": "torch.utils.data.dataset.TensorDataset", "sampler": "torch.utils.data.sampler.RandomSampler",
			"collate": "torch.utils.data._utils.collate.default_collate", "iterable": false, "items": 10.0,
			"given": []any{"dataset", "batch_size", "shuffle"}, "item_file": nil, "item_line": nil, // PyTorch's own
		},
		{
			"num_workers": 1.0, "batch_size": 2.0, "prefetch_factor": 3.0, "start_method": "spawn", "drop_last": true,
			"timeout": 7.0, "given": []any{"dataset", "batch_size", "num_workers", "prefetch_factor",
				"multiprocessing_context", "drop_last", "timeout"},
		},
		{"batch_size": 3.0, "drop_last": false, "sampler": "torch.utils.data.sampler.BatchSampler",
			"given": []any{"dataset", "batch_sampler"}},
		{"iterable": true, "dataset": "__main__.Stream", "batch_size": nil, "sampler": nil, "items": nil},
		{"dataset": "__main__.Loud", "items": nil, "collate": "builtins.list"},
		{"class": "__main__.Own", "batch_size": 5.0, "persistent_workers": true},
		{"batch_size": 1.0},
		{"batch_size": 9.0, "given": []any{"dataset", "batch_size"}}, // made by a library over the same dataset
		{"dataset": "__main__.Loud"},
	}
	for n, method := range map[int]string{3: "def __iter__", 4: "def __getitem__"} {
		want[n]["item_file"], want[n]["item_line"] = file, float64(line(t, file, method))
	}
	places := []map[string]any{
		at("DataLoader(DATA, 4, True)", "main"), at("DataLoader(\n            DATA,", "Trainer.fit"),
		at("DataLoader(DATA, batch_sampler", "main"),
		at("DataLoader(Stream()", "main"), at("DataLoader(Loud(), collate", "main"), at("super().__init__(data, batch",
			"Own.__init__"),
		at("DataLoader(DATA, batch_size=1)", "main"), at("DataLoader(DATA, batch_size=1)", "main"),
		at("library.fresh", "main"),
	}
	made := e.made()
	if len(made) < len(want) {
		t.Fatalf("told of %d loaders, want %d at least", len(made), len(want))
	}
	for n := range want {
		maps.Copy(want[n], places[n])
		if old := made[n]["function"]; old == "fit" || old == "__init__" {
			made[n]["function"] = places[n]["function"] // before Python 3.11 code has no qualified name
		}
		for key, value := range want[n] {
			if diff := cmp.Diff(value, made[n][key]); diff != "" {
				t.Errorf("loader %d, %s (-want +got):\n%s", n, key, diff)
			}
		}
	}
}

// stopwatch is what a job of stopwatch.py measured of one loader, in seconds.
type stopwatch struct {
	Steps, Epochs                         int
	Wait, Create, Drain, StepTime, Nested float64
}

func TestHookAgreesWithTheStopWatch(t *testing.T) {
	names := []string{"none", "fork", "persistent", "iterable", "getitems", "batch_sampler", "nested", "evaluation",
		"given up", "half evaluation", "zip left", "zip right", "spawn", "forkserver", "left"}
	e, apart := stopwatchApart(t, names)
	if apart != "" { // On a busy machine the job may lose its CPU just between the two clocks.
		t.Log("once more: ", apart)
		e, apart = stopwatchApart(t, names)
	}
	if apart != "" {
		t.Error(apart)
	}
	if got := e.steps(0); got["samples"] != 50.0 || got["batch_bytes"] != 80.0 || got["batch_all_tensors"] != 1.0 ||
		got["batch_tensors"] != 0.0 ||
		got["batch_float32"] != 0.0 || got["batch_float64"] != 0.0 || got["grad_steps"] != 14.0 {
		t.Errorf("two epochs of 25 items by 4: %v", got)
	}
	if got := e.steps(7); got["grad_steps"] != 0.0 {
		t.Errorf("an evaluation: %v", got)
	}
	for n, items := range map[int]float64{0: 50, 1: 48, 2: 48, 3: 24, 4: 48, 5: 8, 12: 24, 13: 24} {
		work, _ := e.work(n)
		if work["items"] != items || work["fetches"] != e.steps(n)["steps"].(float64) {
			t.Errorf("%s: %v items in %v batches, want %v in %v", names[n], work["items"], work["fetches"], items,
				e.steps(n)["steps"])
		}
		if work["item_time"] < items*2e6 || work["item_time"] > work["fetch_time"] ||
			work["fetch_cpu"] > work["fetch_time"] {
			t.Errorf("%s: %v", names[n], work)
		}
	}
	for n, want := range map[int][]int{0: {0, 0}, 1: {2, 2}, 2: {2, 0}, 12: {1}, 13: {1}} {
		for number, born := range want {
			d, ok := e.last("epoch", func(d datagram) bool { return *d.Loader == n && d.Epoch.Number == int64(number) })
			if !ok || d.Epoch.Born != born || !d.Epoch.Ended || d.Epoch.Drain == nil || d.Epoch.FirstWait == nil ||
				len(d.Epoch.Workers) != want[0] ||
				n < 3 && (d.Epoch.Draw == nil || (d.Epoch.Redraw != nil) != (born > 0)) {
				t.Errorf("%s, epoch %d: %+v", names[n], number, d.Epoch)
			}
			for _, pid := range d.Epoch.Workers {
				if hello, ok := e.last("hello", func(h datagram) bool { return h.PID == pid }); !ok ||
					hello.Parent != d.PID || hello.Loader == nil || *hello.Loader != n {
					t.Errorf("%s: worker %d said hello as %+v", names[n], pid, hello)
				}
			}
		}
	}
}

// stopwatchApart runs stopwatch.py and says in which figures the hook and the stop-watch are too far apart.
func stopwatchApart(t *testing.T, names []string) (*listener, string) {
	e := listenAlone(t)
	lines := strings.Split(strings.TrimSpace(e.ran(nil, script(t, "stopwatch.py"), "spawn")), "\n")
	if len(lines) != len(names) {
		t.Fatalf("%d loaders measured, want %d", len(lines), len(names))
	}
	var apart []string
	figures, far := 0, false
	for n, name := range names {
		var want stopwatch
		must.Do(t, json.Unmarshal([]byte(strings.ReplaceAll(lines[n], "step_time", "StepTime")), &want))
		got := e.steps(n)
		if got["steps"] != float64(want.Steps) || got["epochs"] != float64(want.Epochs) {
			t.Errorf("%s: %v steps in %v epochs, want %d in %d", name, got["steps"], got["epochs"], want.Steps,
				want.Epochs)
		}
		for key, seconds := range map[string]float64{"wait": want.Wait, "create": want.Create, "drain": want.Drain,
			"step_time": want.StepTime, "nested": want.Nested} {
			told, _ := got[key].(float64)
			figures++
			// Within 1 %, or 0.1 ms a call: the stop-watch's own calls and the sending lie between the two clocks.
			if diff := math.Abs(told/1e9 - seconds); diff > 0.01*seconds &&
				diff > 1e-4*float64(want.Steps+want.Epochs) {
				apart = append(apart, fmt.Sprintf("%s: %s is %.3f ms, the stop-watch says %.3f ms", name, key, told/1e6,
					seconds*1e3))
				far = far || diff > 0.03
			}
		}
	}
	if far || len(apart) > figures/10 {
		return e, fmt.Sprintf("%d of %d figures are apart:\n%s", len(apart), figures, strings.Join(apart, "\n"))
	}
	return e, ""
}

// TestHookCountsItsOwnTimeToTheWait: what the hook does with a batch, the job waits for within __next__, as for the
// batch itself; it is no part of the step.
func TestHookCountsItsOwnTimeToTheWait(t *testing.T) {
	e := listen(t)
	var waited float64
	e.figures("booked.py", &waited)
	steps := e.steps(1)
	if told, _ := steps["wait"].(float64); steps["steps"] != 12.0 || waited < 1 || told/1e9 < 0.9*waited ||
		told/1e9 > waited {
		t.Errorf("waited %.1f ms, and the hook told %.1f ms of %v steps", 1e3*waited, told/1e6, steps["steps"])
	}
}

func TestHookTimesWhatItemsAreMadeOf(t *testing.T) {
	e := listen(t)
	folder, file := t.TempDir(), script(t, "items.py")
	e.prints("132\n", []string{"FOLDER=" + folder}, file)
	for n, processes := range map[int]int{0: 1, 4: 2} {
		work, told := e.work(n)
		if told != processes || work["items"] != 40 || work["opens"] != 40 || work["reads"] != 40 ||
			work["fetches"] != 10 || work["decodes"] != 0 {
			t.Errorf("loader %d, by %d processes: %v", n, told, work)
		}
		if work["collate"] < 100e6 || work["item_time"] < 100e6 || work["open_time"] <= 0 || work["open_time"]+
			work["read_time"] > work["item_time"]-100e6 {
			t.Errorf("loader %d: %v", n, work)
		}
		// An item that lost its CPU meanwhile was slow too; of those planted it is known how slow they were at least.
		planted := map[float64]bool{7: false, 23: false}
		for _, d := range e.received {
			if d.Work == nil || *d.Loader != n {
				continue
			}
			list, _ := d.Work["slow"].([]any)
			for _, each := range list {
				index, micros := each.([]any)[0].(float64), each.([]any)[1].(float64)
				if _, ok := planted[index]; ok {
					planted[index] = micros >= 50000
				}
			}
		}
		if !planted[7] || !planted[23] {
			t.Errorf("loader %d: slow items not told as such: %v", n, planted)
		}
	}
	for n := range map[int]bool{1: true, 5: true} {
		if work, _ := e.work(n); work["items"] != 10 || work["decodes"] != 10 ||
			work["decoded_values"] != 10*200*200*3.0 || work["decode_time"] < 1e6 ||
			work["resize_time"] <= 0 ||
			work["decode_time"]+work["resize_time"] > work["item_time"] {
			t.Errorf("loader %d of pictures: %v", n, work)
		}
	}
	for n := range map[int]bool{2: true, 6: true} {
		// opening an archive of 2,000 and reading 4 MB four times is nearly all that these items do
		if work, _ := e.work(n); work["archive_time"] < 0.8*work["item_time"] ||
			work["archive_time"] > work["item_time"] {
			t.Errorf("loader %d of files of many items: %v", n, work)
		}
		if kept, _ := e.work(n + 1); kept["archive_time"] <= 0 {
			t.Errorf("loader %d of a kept archive: %v", n+1, kept)
		}
	}
	var lines []int
	for s := range e.sites("archive") {
		lines = append(lines, s.Line)
	}
	slices.Sort(lines)
	var opened []int
	for _, code := range []string{"with tarfile.open(os.path.join(FOLDER, \"data.tar\")) as", "file.extractfile(name)",
		"with zipfile.ZipFile(os.path.join(FOLDER, \"data.zip\")) as", "whole = ", "packed = numpy", "saved = ",
		"self.file = tarfile", "self.file.extractfile"} {
		opened = append(opened, line(t, file, code))
	}
	slices.Sort(opened)
	if diff := cmp.Diff(opened, slices.Compact(lines)); diff != "" {
		t.Errorf("lines that open archives (-want +got):\n%s", diff)
	}
	want := map[siteSeen]int64{{
		Kind: "open", What: filepath.Join(folder, "data.h5"), File: file,
		Line:     line(t, file, "with h5py.File(os.path.join(FOLDER, \"data.h5\"), \"r\")"),
		Function: "Reopened.__getitem__",
	}: 80}
	got := map[siteSeen]int64{}
	for s, calls := range e.sites("open") {
		if s.Function == "__getitem__" {
			s.Function = "Reopened.__getitem__" // before Python 3.11
		}
		got[s] += calls
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines that open files (-want +got):\n%s", diff)
	}
}

// TestHookTellsWhoTakesTheBatches: aside is another thread than the main one; after a fork that is the one that forked.
func TestHookTellsWhoTakesTheBatches(t *testing.T) {
	e := listen(t)
	e.ran(nil, script(t, "aside.py"))
	type batches struct{ steps, aside any } // nil: not reported
	got := map[any]batches{}                // by batch size
	for _, d := range e.received {
		if d.Kind != "steps" || d.Steps == nil {
			continue
		}
		made, _ := e.last("loader", func(m datagram) bool { return m.PID == d.PID && *m.Loader == *d.Loader })
		got[made.Made["batch_size"]] = batches{d.Steps["steps"], d.Steps["aside_steps"]}
	}
	want := map[any]batches{5.0: {2.0, nil}, 2.0: {5.0, 5.0}, 1.0: {10.0, 8.0}, 4.0: {3.0, nil}, 3.0: {4.0, 4.0}}
	delete(got, 10.0) // those that were only made so that the others are reported
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(batches{})); diff != "" {
		t.Errorf("batches by batch size (-want +got):\n%s", diff)
	}
}

// TestHookTimesAPretendedGPU stands in for a GPU: what the hook calls of torch.cuda is there, and the waits for it are
// sleeps. The methods of Tensor are left alone unless they are asked for.
func TestHookTimesAPretendedGPU(t *testing.T) {
	needTorch(t)
	t.Parallel()
	file := script(t, "cuda.py")
	// PyTorch 2 logs why a graph broke, each line with the time and the process: left out, since they differ from run
	// to run.
	plain := "TORCH_LOGS_FORMAT=%(levelname)s %(message)s"
	without := run(t, append(os.Environ(), plain), file)
	synchronize, item := line(t, file, "torch.cuda.synchronize()"), line(t, file, "total += batch.as")
	for name, c := range map[string]struct {
		env   []string
		calls float64
		lines map[int]string
	}{
		"as it is": {nil, 100, map[int]string{synchronize: "torch.cuda.synchronize"}},
		"with sync points": {[]string{hook.EnvSyncPoints + "=1"}, 200,
			map[int]string{synchronize: "torch.cuda.synchronize", item: "Tensor.item"}},
	} {
		t.Run(name, func(t *testing.T) {
			e := listen(t)
			o := e.run(append(c.env, plain), file)
			if o.status != 0 || o.stdout != without.stdout || o.stderr != without.stderr {
				t.Fatalf("job ended with %d, stdout %q, stderr %q; without the hook %+v", o.status, o.stdout, o.stderr,
					without)
			}
			pretended(t, e, c.calls)
			sites := e.sites("sync")
			for s, calls := range sites {
				if c.lines[s.Line] != s.What || s.File != file || calls < 99 {
					t.Errorf("%d calls at %+v", calls, s)
				}
			}
			if len(sites) != len(c.lines) {
				t.Errorf("%d lines wait for the GPU, want %d", len(sites), len(c.lines))
			}
		})
	}
}

// pretended checks what was reported the loaders of cuda.py, in the second of which so many calls wait for the GPU.
func pretended(t *testing.T, e *listener, calls float64) {
	t.Helper()
	if steps := e.steps(0); steps["steps"] != 100.0 || steps["device_steps"] != nil {
		t.Errorf("on another GPU than the current one: %v", steps)
	}
	if steps := e.steps(2); steps["steps"] != 80.0 || steps["device_steps"] == nil {
		t.Errorf("on two GPUs by turns, and graphs captured: %v", steps)
	}
	e.staysOn()
	steps := e.steps(1)
	number := func(key string) float64 { f, _ := steps[key].(float64); return f }
	// 100 steps of 6 ms; the first may go by before CUDA is seen.
	if number("device_steps") < 6 || number("device_time")/number("device_steps") < 5e6 ||
		number("device_starved") <= 0 || number("device_waited") <= 0 || number("device_waited") > number("wait") {
		t.Errorf("device: %v", steps)
	}
	if number("syncs") < calls-2 || number("syncs") > calls || number("sync_time") < 190e6 {
		t.Errorf("%v calls in %v ms wait for the GPU, want %v in 200", steps["syncs"], number("sync_time")/1e6, calls)
	}
}

// TestHookTimesStepsByChance: which steps are timed does not depend on how long they take.
func TestHookTimesStepsByChance(t *testing.T) {
	o := run(t, os.Environ(), "-B", script(t, "bursts.py"), listen(t).folder)
	if o.status != 0 || o.stdout != "" || o.stderr != "" {
		t.Errorf("%+v", o)
	}
}
