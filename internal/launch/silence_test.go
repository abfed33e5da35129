package launch

import (
	"os"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/hook"
	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/procfs"
)

func TestIsolating(t *testing.T) {
	for command, want := range map[string]string{
		"python train.py":                           "",
		"python -I train.py":                        "-I",
		"python -IB train.py":                       "-I",
		"python3 -sE train.py":                      "-E",
		"python -u -S train.py":                     "-S",
		"python -X importtime -E train.py":          "-E",
		"python -Ximporttime train.py -I":           "",
		"python -XI train.py":                       "", // the value of -X
		"python -W ignore train.py -E":              "",
		"python -uWignore -E train.py":              "-E",
		"python -m train -I":                        "",
		"python -Im train":                          "-I",
		"python -c pass -S":                         "",
		"python - -I":                               "",
		"python --check-hash-based-pycs never x.py": "",
		"python": "",
	} {
		var argv [][]byte
		for arg := range strings.FieldsSeq(command) {
			argv = append(argv, []byte(arg))
		}
		if got := isolating(argv); got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
}

func TestPythonVersion(t *testing.T) {
	for name, want := range map[string][2]int{"python3.7": {3, 7}, "python2.7": {2, 7}, "python3.13t": {3, 13},
		"python3": {0, 0}, "python": {0, 0}} {
		major, minor, ok := pythonVersion(name)
		if ok != (want[0] > 0) || ok && [2]int{major, minor} != want {
			t.Errorf("%s: %d.%d %v", name, major, minor, ok)
		}
	}
}

// TestSilenceOfNoPython: this very process is looked at, which is none.
func TestSilenceOfNoPython(t *testing.T) {
	id := procfs.ID{PID: os.Getpid(), Start: startOf(t, os.Getpid())}
	if got := new(Job).explain(id, hook.State{}, nil).text; !strings.HasSuffix(got, "is not a Python") {
		t.Errorf("explained with %q", got)
	}
	if got := new(Job).explain(procfs.ID{PID: id.PID, Start: id.Start + 1}, hook.State{}, nil).text; got != "" {
		t.Errorf("another process of that number is explained with %q", got)
	}
	off := []hook.Off{{PID: 7, Reason: "OSError: spoilt"}}
	for want, state := range map[string]hook.State{silentLoader: {Loaded: 1}, silentBatch: {Loaded: 1, Made: 1},
		"it switched itself off: OSError: spoilt": {Loaded: 1, Made: 1, Off: off}} {
		if got := new(Job).explain(id, state, nil).text; got != want {
			t.Errorf("%+v: explained with %q, want %q", state, got, want)
		}
	}
}

// TestEntered: a hook that has switched itself off reports no first batch, so the job must be looked at from outside.
func TestEntered(t *testing.T) {
	off := []hook.Off{{PID: 7, Reason: "OSError: spoilt"}}
	for _, c := range []struct {
		state hook.State
		want  bool
	}{{hook.State{}, false}, {hook.State{Loaded: 2}, true}, {hook.State{Loaded: 2, Off: off}, false},
		{hook.State{Off: off}, false}} {
		if got := entered(c.state); got != c.want {
			t.Errorf("%+v: %t, want %t", c.state, got, c.want)
		}
	}
}

func startOf(t *testing.T, pid int) uint64 {
	t.Helper()
	p := must.Get(procfs.FS{}.Open(pid))(t)
	defer p.Close()
	return p.ID.Start
}

// TestKinship: this process is of a job whose first process is its parent, and stays so when it was known once.
func TestKinship(t *testing.T) {
	k := &jobProcesses{known: map[procfs.ID]bool{}}
	if _, ok := k.identify(os.Getpid()); ok {
		t.Error("a process of a job that was not started")
	}
	k.root(os.Getppid())
	entity, ok := k.identify(os.Getpid())
	if want := job.Entity(procfs.ID{PID: os.Getpid(), Start: startOf(t, os.Getpid())}); !ok || entity != want {
		t.Errorf("%q, %v; want %q", entity, ok, want)
	}
	if _, ok := k.identify(1); ok && os.Getppid() != 1 {
		t.Error("init belongs to the job")
	}
	k.root(1 << 30) // as when the launcher has ended and the trainer was taken over by init
	if _, ok := k.identify(os.Getpid()); !ok {
		t.Error("forgotten when its launcher had ended")
	}
}

// TestNoticeKeepsWhatSaysMost: a process that is no Python is a reason, but not one that stands against another.
func TestNoticeKeepsWhatSaysMost(t *testing.T) {
	self := procfs.ID{PID: os.Getpid(), Start: startOf(t, os.Getpid())}
	tree := &job.Tree{Processes: []job.Process{{ID: self}}}
	l := &Job{}
	l.notice(tree)
	if !strings.HasSuffix(l.quiet.text, "is not a Python") {
		t.Errorf("noticed %+v", l.quiet)
	}
	l.quiet = reason{"Python was started with -I", 3}
	l.notice(tree)
	if l.quiet.weight != 3 {
		t.Errorf("a lesser reason stands now: %+v", l.quiet)
	}
}

// TestWhySilent: that there is no receiver says more than what a look at the processes did.
func TestWhySilent(t *testing.T) {
	why := reason{"sh is not a Python", 1}
	for want, j := range map[string]*Job{
		"":                   {},
		"sh is not a Python": {quiet: why},
		"the hook could not be prepared: no room": {quiet: why, noHook: "the hook could not be prepared: no room"},
	} {
		if got := j.WhySilent(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
