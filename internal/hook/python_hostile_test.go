package hook_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/must"
)

// without is the environment of a job that nobody watches.
func without() []string { return append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1") }

func TestHookGivesWayToAnotherSitecustomize(t *testing.T) {
	t.Parallel()
	const show = `import sys; print(sys.path, sys.modules.get("sitecustomize"), getattr(sys.modules.get("sitecustomize"), "mark", 0))`
	for name, own := range map[string]string{
		"runs once": "import builtins\nbuiltins.count = getattr(builtins, 'count', 0) + 1\nmark = " +
			"builtins.count\nprint('mine', __name__, __file__)",
		"raises":                   "raise ValueError('of their own')",
		"lacks a module":           "import no_such_module_at_all",
		"raises its own not found": "raise ImportError('x', name='sitecustomize')",
		"exits":                    "import sys\nsys.exit(9)",
		"does not parse":           "def",
		"":                         "",
	} {
		t.Run(name, func(t *testing.T) {
			e, folder := listen(t), t.TempDir()
			if own != "" {
				must.Do(t, os.WriteFile(filepath.Join(folder, "sitecustomize.py"), []byte(own), 0o600))
			}
			for _, flags := range [][]string{{"-c", show}, {"-X", "dev", "-c", show}} {
				want := run(t, append(without(), "PYTHONPATH="+folder), flags...)
				got := run(t, append(e.environ(), "PYTHONPATH="+e.folder+":"+folder), flags...)
				if before, after, found := strings.Cut(got.stderr, "  File \""+e.folder); found {
					// the line in a traceback says who imported it
					_, after, _ = strings.Cut(after, "  File ")
					got.stderr = before + "  File " + after
				}
				if diff := cmp.Diff(want, got, cmp.AllowUnexported(outcome{})); diff != "" {
					t.Errorf("without and with the hook (-without +with):\n%s", diff)
				}
				after := run(t, append(e.environ(), "PYTHONPATH="+folder+":"+e.folder), "-c", "pass")
				if own != "" && after.stderr != run(t, append(without(), "PYTHONPATH="+folder), "-c", "pass").stderr {
					t.Errorf("with the hook behind it: %+v", after)
				}
			}
		})
	}
}

func TestHookKeepsOutWhereNobodyListens(t *testing.T) {
	e := listen(t)
	const show = "import sys; print([type(f).__name__ if not isinstance(f, type) else f.__name__ for f in " +
		"sys.meta_path], sys.path, 'pipetune_hook' in sys.modules)"
	want := run(t, without(), "-c", show)
	for name, env := range map[string][]string{
		"no variable":    append(without(), "PYTHONPATH="+e.folder),
		"socket is gone": append(e.environ(), "PIPETUNE_HOOK_SOCKET="+e.path+".gone"),
	} {
		if diff := cmp.Diff(want, run(t, env, "-c", show), cmp.AllowUnexported(outcome{})); diff != "" {
			t.Errorf("%s (-without +with):\n%s", name, diff)
		}
	}
	if e.take() {
		t.Errorf("told %+v", e.received)
	}
}

func TestHookChangesNothingAJobCanSee(t *testing.T) {
	t.Parallel()
	for name, ends := range map[string][]string{
		"all that fails": nil,
		// with so many workers an exit in an epoch, errors that nobody catches, and a worker that is killed
		"the ends of jobs": {"2 here", "0 wrong", "2 wrong", "1 killed"},
	} {
		t.Run(name, func(t *testing.T) {
			e := listen(t)
			args := append([]string{script(t, "behaviour.py")}, ends...)
			want, got := run(t, without(), args...), e.run(nil, args...)
			if diff := cmp.Diff(want.stdout, got.stdout); diff != "" || want.status != 0 || got.status != 0 {
				t.Errorf("status %d without, %d with; stdout (-without +with):\n%s\nstderr with:\n%s", want.status,
					got.status, diff, got.stderr)
			}
			e.staysOn()
			if trained := e.trained(); ends != nil && (len(trained) != len(ends) || trained[0]["begun"] != 1.0) {
				t.Errorf("left in the middle of an epoch: %v", trained)
			}
		})
	}
}

// A warning that PyTorch puts at the line which asked for a batch names that line, and none of the hook's.
func TestHookStandsInTheWayOfNoWarning(t *testing.T) {
	e := listen(t)
	file := script(t, "warned.py")
	got := e.asWithout(nil, file)
	for _, asked := range []string{"for batch in", "# is told"} {
		if !strings.Contains(got.stderr, fmt.Sprint("warned.py:", line(t, file, asked), ":")) || got.stdout == "" {
			t.Errorf("the job printed %q, and of warnings %q", got.stdout, got.stderr)
		}
	}
	if e.steps(0)["steps"] == nil {
		t.Error("nothing was counted")
	}
}

func TestHookGoesOffWhereItFails(t *testing.T) {
	e := listen(t)
	o := e.run([]string{"FOLDER=" + t.TempDir()}, script(t, "broken.py"))
	if o.status != 0 || o.stdout != "{78.0}\n" {
		t.Errorf("job ended with %d, stdout %q, stderr %q", o.status, o.stdout, o.stderr)
	}
	reasons := map[string]bool{}
	for _, d := range e.received {
		if d.Kind == "off" {
			reasons[d.Reason] = true
		}
	}
	if len(reasons) < 20 {
		t.Errorf("%d reasons told: %v; %s", len(reasons), reasons, o.stderr)
	}
	for reason := range reasons {
		if !strings.Contains(reason, "broken on purpose") {
			t.Errorf("reason %q", reason)
		}
	}
}

// half does something once the job is half through.
func half(t *testing.T, folder string, do func()) {
	go func() {
		for range 3000 { // a minute: importing torch beside other tests takes most of it
			if _, err := os.Stat(filepath.Join(folder, "half")); err == nil {
				do()
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
		t.Error("the job did not come half through")
		do()
	}()
}

func TestHookLosesNoTotalsWhereNobodyReadsForAWhile(t *testing.T) {
	e, folder := listen(t), t.TempDir()
	e.paused.Store(true)
	half(t, folder, func() { e.paused.Store(false) })
	// Half of the job is some 20 messages, and a socket takes 11.
	e.prints("2878800\n", []string{"FOLDER=" + folder}, script(t, "long.py"), "2400", "1")
	steps, _ := e.last("steps", func(d datagram) bool { return d.Steps != nil })
	work, _ := e.work(0)
	if steps.Lost == 0 || steps.Steps["steps"] != 2400.0 || steps.Steps["samples"] != 2400.0 || work["items"] != 2400 {
		t.Errorf("lost %d; %v; %v", steps.Lost, steps.Steps, work)
	}
	if made := e.made(); len(made) != 1 {
		t.Errorf("told of %d loaders, want 1", len(made))
	}
	if d, ok := e.last("epoch", func(d datagram) bool { return d.Epoch.Ended }); !ok || d.Epoch.Steps != 2400 {
		t.Errorf("no end of the epoch was told: %+v", d.Epoch)
	}
}

func TestJobOutlivesItsListener(t *testing.T) {
	e, folder := listen(t), t.TempDir()
	e.paused.Store(true)
	half(t, folder, func() {
		if err := unix.Shutdown(e.fd, unix.SHUT_RD); err != nil {
			t.Error(err)
		}
		if err := os.RemoveAll(filepath.Dir(e.path)); err != nil {
			t.Error(err)
		}
	})
	if o := run(t, append(e.environ(), "FOLDER="+folder), script(t, "long.py"), "600", "2"); o.status != 0 ||
		o.stdout != "179700\n" || o.stderr != "" {
		t.Errorf("job ended with %+v", o)
	}
}
