package procfs

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/must"
)

// startSleep starts a process to look at and ends it with the test.
func startSleep(t testing.TB) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "60")
	must.Do(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended in the test already
		_, _ = cmd.Process.Wait()
	})
	return cmd
}

func TestProcessOfThisMachine(t *testing.T) {
	p := open(t, FS{}, os.Getpid())
	var s Stat
	must.Do(t, p.Stat(&s))
	if s.PPID != os.Getppid() || s.Threads < 1 || s.StartTicks == 0 {
		t.Errorf("stat = %+v", s)
	}
	var sched Schedstat
	if err := p.Schedstat(&sched); err != nil || sched.CPU <= 0 || sched.Turns <= 0 {
		t.Errorf("schedstat = %+v, %v", sched, err)
	}
	var io IO
	if err := p.IO(&io); err != nil || io.ReadCalls == 0 {
		t.Errorf("io = %+v, %v", io, err)
	}
	var m Statm
	if err := p.Statm(&m); err != nil || m.ResidentBytes < 1<<20 {
		t.Errorf("statm = %+v, %v", m, err)
	}
	st := must.Get(p.Status())(t)
	if uid, ok := st.UID.Get(); !ok || uid != os.Getuid() || st.NSPIDs[len(st.NSPIDs)-1] != os.Getpid() {
		t.Errorf("status = %+v", st)
	}
	if set, ok := st.CPUs.Get(); !ok || len(set) == 0 {
		t.Errorf("affinity = %v", set)
	}
	args, err := p.Cmdline()
	if err != nil || len(args) != len(os.Args) || string(args[0]) != os.Args[0] {
		t.Errorf("cmdline = %q, %v; want %q", args, err, os.Args)
	}
	if n, err := p.PIDNamespace(); err != nil || n == 0 {
		t.Errorf("pid namespace = %d, %v", n, err)
	}
	fds, total, err := p.FDs(1000)
	if err != nil || total < 3 || len(fds) < 3 {
		t.Errorf("fds = %v of %d, %v", fds, total, err)
	}
	u, err := FS{}.UsableCPUs(os.Getpid())
	if err != nil || u.CPUs <= 0 {
		t.Errorf("usable = %+v, %v", u, err)
	}
}

func TestEndedProcessIsGone(t *testing.T) {
	cmd := startSleep(t)
	p := open(t, FS{}, cmd.Process.Pid)
	var s Stat
	must.Do(t, p.Stat(&s))
	must.Do(t, cmd.Process.Kill())
	_, _ = cmd.Process.Wait()
	if err := p.Stat(&s); !errors.Is(err, ErrGone) {
		t.Errorf("stat of an ended process: %v", err)
	}
	var io IO
	if err := p.IO(&io); !errors.Is(err, ErrGone) {
		t.Errorf("io of an ended process: %v", err)
	}
	if _, err := p.Cmdline(); !errors.Is(err, ErrGone) {
		t.Errorf("cmdline of an ended process: %v", err)
	}
}

// TestReusedNumberIsGone gives the number of a process to another one. In a fake root the descriptor proves nothing, so
// it is the start time that tells.
func TestReusedNumberIsGone(t *testing.T) {
	f := fixture(t, "cgroup-v2")
	p := open(t, f, 4700)
	var s Stat
	if err := p.Stat(&s); err != nil || s.StartTicks != 88123 {
		t.Fatal(s, err)
	}
	path := f.Path("proc", "4700", "stat")
	text := must.Get(os.ReadFile(path))(t)
	must.Do(t, os.WriteFile(path, bytes.Replace(text, []byte("88123"), []byte("88124"), 1), 0o644))
	if err := p.Stat(&s); !errors.Is(err, ErrGone) || s.StartTicks != 0 {
		t.Errorf("the other process was credited: %+v, %v", s, err)
	}
	if _, err := f.OpenID(p.ID); !errors.Is(err, ErrGone) {
		t.Errorf("opened by its old identity: %v", err)
	}
}

func TestTreeOfACapturedJob(t *testing.T) {
	f := fixture(t, "debian12-hybrid")
	want := []int{19870, 19872}
	kids, err := open(t, f, 19868).Children(nil)
	if err != nil || !slices.Equal(kids, want) {
		t.Errorf("children %v, %v; want %v", kids, err, want)
	}
	table := must.Get(f.Table())(t)
	var below []int
	for _, e := range table.Descendants(19868) {
		below = append(below, e.PID)
	}
	if !slices.Equal(below, want) {
		t.Errorf("by scan %v, want %v", below, want)
	}
	tasks, err := filepath.Glob(f.Path("proc", "19868", "task", "*", "children"))
	if err != nil || len(tasks) == 0 {
		t.Fatal(tasks, err)
	}
	for _, file := range tasks {
		must.Do(t, os.Remove(file))
	}
	if _, err := open(t, f, 19868).Children(nil); !errors.Is(err, ErrNoData) {
		t.Errorf("children without the file: %v", err)
	}
}

func TestCapturedTrainer(t *testing.T) {
	f := fixture(t, "debian12-hybrid")
	p := open(t, f, 19868)
	st := must.Get(p.Status())(t)
	if string(st.Name) != "python3" || st.CaughtSignals.Or(0)&0x10000 == 0 {
		t.Errorf("status %+v: a trainer with workers catches SIGCHLD", st)
	}
	worker := must.Get(open(t, f, 19870).Status())(t)
	if mask := worker.CaughtSignals.Or(0); mask&0x44c0 != 0x44c0 {
		t.Errorf("a worker catches %#x", mask)
	}
	args, err := p.Cmdline()
	if err != nil || len(args) != 2 || string(args[1]) != "train.py" {
		t.Errorf("cmdline %q, %v", args, err)
	}
	tids, err := p.Threads(nil)
	if err != nil || len(tids) != 3 {
		t.Fatal(tids, err)
	}
	task := must.Get(p.Task(tids[0]))(t)
	defer task.Close()
	var sys Syscall
	if err := task.Syscall(&sys); err != nil || sys.Number != 230 || sys.Running {
		t.Errorf("syscall %+v, %v", sys, err)
	}
	if w, err := task.Wchan(); err != nil || string(w) != "hrtimer_nanosleep" {
		t.Errorf("wchan %q, %v", w, err)
	}
	libs, err := p.MappedFiles(func(path string) bool { return strings.Contains(path, "libtorch") }, 10)
	if err != nil || len(libs) == 0 {
		t.Errorf("libtorch is not among the mapped files: %v, %v", libs, err)
	}
	fds, total, err := p.FDs(1000)
	if err != nil || total != len(fds) {
		t.Fatal(total, err)
	}
	torch := 0
	for _, fd := range fds {
		if strings.HasPrefix(fd.Target, "/dev/shm/torch_") {
			torch++
		}
	}
	if torch != 1 {
		t.Errorf("%d shared tensors among %v", torch, fds)
	}
	if few, total, err := p.FDs(3); err != nil || len(few) != 3 || total != len(fds) {
		t.Errorf("bounded: %d of %d, %v", len(few), total, err)
	}
	if exe, err := p.Exe(); err != nil || exe != "/usr/bin/python3.11" {
		t.Errorf("exe %q, %v", exe, err)
	}
}

// TestHotReadersMakeNoGarbage: they run up to 100 times a second for each worker.
func TestHotReadersMakeNoGarbage(t *testing.T) {
	reads := processReads(t, os.Getpid())
	reads["/proc/stat"] = machineReads(t)["stat"]
	for name, read := range reads {
		if err := read(); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if n := testing.AllocsPerRun(100, func() { _ = read() }); n > 0 {
			t.Errorf("%s makes %v allocations a read", name, n)
		}
	}
}
