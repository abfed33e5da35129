//go:build reliability

package reliability

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/nvml"
	"github.com/pipetune/pipetune/internal/probe"
)

var confinedTrials = []trial{
	{
		// deeds, and the core file
		id: "A6", fault: "a file takes over the process that reads it",
		made: fmt.Sprintf("bench-io's worker process is made by a debugger to try %d acts: sockets, programs, "+
			"processes, signals, ptrace, files written, made, removed and read elsewhere, privileges, limits, a core "+
			"file", len(deeds)+1),
		target: "none succeeds; bench-io goes on and ends with 0", run: func(s *stand) { takenOver(s, false) },
	},
	{
		id: "A6-gpu", fault: "a library takes over the process that reads GPUs",
		made: "as A6, of diagnose's process for GPUs; it may read files and make unix sockets, which NVIDIA's " +
			"library may need",
		target: "none of the other acts succeeds; diagnose goes on and ends with 0",
		run:    func(s *stand) { takenOver(s, true) },
	},
}

// deed is one thing that a process taken over may try.
type deed struct {
	name  string
	gpus  bool // allowed to the process that reads GPUs
	tried func(p *possessed, v victim) error
}

// victim is what it is tried on.
type victim struct {
	parent                          int
	inside, unused, outside, folder string // two files of the dataset, one that is not, the dataset's folder
}

// does makes one system call; arguments may be of what it is tried on.
func does(number uintptr, args ...any) func(*possessed, victim) error {
	return func(p *possessed, v victim) error {
		given := slices.Clone(args)
		for i, arg := range given {
			if of, ok := arg.(func(victim) any); ok {
				given[i] = of(v)
			}
		}
		_, err := p.call(number, given...)
		return err
	}
}

var (
	itsParent   = func(v victim) any { return v.parent }
	aFile       = func(v victim) any { return v.inside }
	unusedFile  = func(v victim) any { return v.unused }
	foreignFile = func(v victim) any { return v.outside }
	newName     = func(v victim) any { return v.inside + "2" }
	theFolder   = func(v victim) any { return v.folder }
)

var deeds = []deed{
	{"make an internet socket", false, does(unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM, 0)},
	{"make a netlink socket", false, does(unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_RAW, 0)},
	{"make a unix socket", true, does(unix.SYS_SOCKET, unix.AF_UNIX, unix.SOCK_STREAM, 0)},
	{"run a program", false, does(unix.SYS_EXECVE, "/bin/true", 0, 0)},
	{"be traced", false, does(unix.SYS_PTRACE, unix.PTRACE_TRACEME, 0, 0, 0)},
	{"trace its parent", false, does(unix.SYS_PTRACE, unix.PTRACE_ATTACH, itsParent, 0, 0)},
	{"make a process", false, does(unix.SYS_CLONE, int(unix.SIGCHLD), 0, 0, 0, 0)},
	{"make a process by vfork", false, does(unix.SYS_VFORK)},
	{"kill its parent", false, does(unix.SYS_KILL, itsParent, int(unix.SIGTERM))},
	{"write a file of the dataset", false, does(unix.SYS_OPEN, aFile, unix.O_WRONLY)},
	{"make a file in the dataset", false, func(p *possessed, v victim) error {
		fd, err := p.call(unix.SYS_OPEN, filepath.Join(v.folder, "made"), unix.O_CREAT|unix.O_WRONLY, 0o600)
		if err == nil { // where files may be made, nothing may be written into them
			_, err = p.call(unix.SYS_WRITE, int(fd), "x", 1)
		}
		return err
	}},
	{"remove a file of the dataset", false, does(unix.SYS_UNLINK, unusedFile)},
	{"change a file's mode", false, does(unix.SYS_CHMOD, aFile, 0o777)},
	{"link a file", false, does(unix.SYS_LINK, aFile, newName)},
	{"read a file outside the dataset", true, does(unix.SYS_OPEN, foreignFile, unix.O_RDONLY)},
	{"read the password file", true, does(unix.SYS_OPEN, "/etc/shadow", unix.O_RDONLY)},
	{"become another user", false, does(unix.SYS_SETUID, 65534)},
	{"make a user namespace", false, does(unix.SYS_UNSHARE, unix.CLONE_NEWUSER)},
	{"mount", false, does(unix.SYS_MOUNT, "none", theFolder, "tmpfs", 0, 0)},
	{"lift its limits", false, does(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_FSIZE, words(1<<40, 1<<40), 0)},
}

func takenOver(s *stand, gpus bool) {
	v := victim{folder: s.folder("data"), outside: s.in("outside")}
	for i := range 64 {
		path := filepath.Join(v.folder, strconv.Itoa(i)+".bin")
		must.Do(s, os.WriteFile(path, make([]byte, 1<<20), 0o644))
		v.unused, v.inside = v.inside, path
	}
	must.Do(s, os.WriteFile(v.outside, []byte("content"), 0o644))
	task, args := probe.Task, []string{"bench-io", "-q", "-v", "--budget", "5s", v.folder}
	if gpus {
		c := steady{batches: 2000, step: 10 * time.Millisecond, workers: 2}.start(s)
		task, args = nvml.Task, watchOf(c, "12s", "-q")
	}
	p := s.pipetune(args, func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, "LD_LIBRARY_PATH="+driver{}.build(s)) })
	v.parent = p.pid()
	worked, refused := deedsIn(s, p, task, v, gpus)
	if len(worked) > 0 {
		s.Errorf("it could %s", strings.Join(worked, ", "))
	}
	p.ends(5*time.Minute, 0)
	for _, e := range must.Get(os.ReadDir(v.folder))(s) {
		if info, err := e.Info(); err != nil || info.Mode() != 0o644 && info.Size() != 0 {
			s.Errorf("%s is now %v, %v", e.Name(), info, err)
		}
	}
	if _, err := os.Stat(v.unused); err != nil {
		s.Error(err)
	}
	s.measured("%d acts refused, %d succeeded", refused, len(worked))
}

// deedsIn has a process of the task try everything. Its parent may need it no longer and end it, as only one of its
// threads is held: what it was at is then tried in another.
func deedsIn(s *stand, p *command, task string, v victim, gpus bool) (worked []string, refused int) {
	s.Helper()
	h := takeOver(s, p, task)
	if limit := coreLimit(h.tid); limit > 4096 {
		worked = append(worked, "leave a core file")
	} else {
		refused++
	}
	for i := 0; i < len(deeds); i++ {
		d := deeds[i]
		err := d.tried(h, v)
		var errno syscall.Errno
		var gone ended
		switch {
		case err == nil && d.gpus && gpus:
		case err == nil:
			worked = append(worked, d.name)
		case errors.As(err, &gone) && gone.asked():
			s.Logf("%s: %v; another one tries", d.name, err)
			h.release()
			h = takeOver(s, p, task)
			i--
		case !errors.As(err, &errno):
			s.Errorf("%s: %v: %s", d.name, err, p.complaints()) // the trial's own trouble
		default:
			s.Logf("%s: %v", d.name, err)
			refused++
		}
	}
	h.release()
	return worked, refused
}

// takeOver makes a process of the task do as it is told. It is one that waits in a system call, past its start.
func takeOver(s *stand, p *command, task string) (h *possessed) {
	s.Helper()
	p.helperOf(task, func(pid int) bool {
		var err error
		if h, err = possess(pid); err != nil {
			s.Logf("not yet: %v", err)
		}
		return err == nil
	})
	return h
}

// coreLimit is the most that a process's core file may have.
func coreLimit(pid int) uint64 {
	var limit unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_CORE, nil, &limit); err != nil {
		return unix.RLIM_INFINITY
	}
	return limit.Max
}

// possessed is a thread of a running process that makes the system calls it is told to, as one would that a hostile
// file has taken over. A debugger's means make it: the thread is stopped in a system call, its registers are set for
// another one, and one instruction is run.
type possessed struct {
	tid    int
	before unix.PtraceRegs
	room   uintptr // free memory of its stack
}

// possess stops a process's first thread. The caller's thread is locked until release.
func possess(pid int) (*possessed, error) {
	runtime.LockOSThread()
	if err := unix.PtraceAttach(pid); err != nil {
		runtime.UnlockOSThread()
		return nil, fmt.Errorf("attaching to %d: %w", pid, err)
	}
	p := &possessed{tid: pid}
	if err := p.stopped(unix.SIGSTOP, unix.PtraceCont); err != nil {
		runtime.UnlockOSThread()
		return nil, err
	}
	if err := unix.PtraceGetRegs(pid, &p.before); err != nil {
		p.release()
		return nil, fmt.Errorf("reading registers: %w", err)
	}
	var code [2]byte
	if _, err := unix.PtracePeekText(pid, uintptr(p.before.Rip)-2, code[:]); err != nil || code != [2]byte{0x0f, 0x05} {
		p.release()
		return nil, fmt.Errorf("process %d is not in a system call: % x, %v", pid, code, err)
	}
	p.room = uintptr(p.before.Rsp) - 8192 // beyond the 128 bytes that leaf functions use
	return p, nil
}

// stopped waits until the thread has stopped for what was asked of it. Go's runtime interrupts its threads with signals
// of its own: each stops the thread before it has done what it was told to, so it is told once more, by on.
func (p *possessed) stopped(asked unix.Signal, on func(tid, signal int) error) error {
	for {
		var status unix.WaitStatus
		if _, err := unix.Wait4(p.tid, &status, unix.WALL, nil); err != nil {
			return fmt.Errorf("waiting for process %d: %w", p.tid, err)
		}
		if !status.Stopped() {
			return ended{p.tid, status}
		}
		if status.StopSignal() == asked {
			return nil
		}
		if err := on(p.tid, int(status.StopSignal())); err != nil {
			return fmt.Errorf("letting process %d go on: %w", p.tid, err)
		}
	}
}

// ended is what became of a process that was to act.
type ended struct {
	tid    int
	status unix.WaitStatus
}

// asked says whether it ended as its parent has those end that it needs no longer: by itself, with 0 between requests,
// with another code where it was at one, or killed after a while.
func (e ended) asked() bool { return e.status.Exited() || e.status.Signal() == unix.SIGKILL }

func (e ended) Error() string {
	return fmt.Sprintf("process %d has ended: status %d, signal %v", e.tid, e.status.ExitStatus(), e.status.Signal())
}

// stepAgain runs the instruction that a signal came before; the signal, which is one of Go's runtime, is dropped.
func stepAgain(tid, _ int) error { return unix.PtraceSingleStep(tid) }

// release lets the thread go on as if nothing had been.
func (p *possessed) release() {
	_ = unix.PtraceSetRegs(p.tid, &p.before) // it may have ended
	_ = unix.PtraceDetach(p.tid)
	runtime.UnlockOSThread()
}

// failed is an error of the debugger's own, which says nothing of what the process may do: how it ended, where it is
// gone. A stopped thread that is not there is on its way out, and can be waited for once its last thread has gone.
func (p *possessed) failed(what string, err error) error {
	var status unix.WaitStatus
	for errors.Is(err, unix.ESRCH) {
		if _, waited := unix.Wait4(p.tid, &status, unix.WALL, nil); waited != nil {
			return fmt.Errorf("%s: %v; waiting for process %d: %v", what, err, p.tid, waited)
		}
		if !status.Stopped() {
			return ended{p.tid, status}
		}
	}
	return fmt.Errorf("%s: %v", what, err) // not %w: nobody may take it for an answer
}

// call makes one system call; its error is a syscall.Errno where the process was refused. Texts are passed as their
// addresses, with a NUL behind.
func (p *possessed) call(number uintptr, args ...any) (uint64, error) {
	var values [6]uint64
	at := p.room
	for i, a := range args {
		switch a := a.(type) {
		case int:
			values[i] = uint64(a)
		case string, []byte:
			raw := append(fmt.Appendf(nil, "%s", a), 0)
			if _, err := unix.PtracePokeData(p.tid, at, raw); err != nil {
				return 0, p.failed("writing an argument", err)
			}
			values[i] = uint64(at)
			at += uintptr(len(raw)+15) &^ 15
		default:
			return 0, fmt.Errorf("an argument of type %T", a)
		}
	}
	regs := p.before
	regs.Rip -= 2
	regs.Orig_rax, regs.Rax = ^uint64(0), uint64(number)
	regs.Rdi, regs.Rsi, regs.Rdx, regs.R10, regs.R8, regs.R9 = values[0], values[1], values[2], values[3], values[4],
		values[5]
	if err := unix.PtraceSetRegs(p.tid, &regs); err != nil {
		return 0, p.failed("setting registers", err)
	}
	if err := unix.PtraceSingleStep(p.tid); err != nil {
		return 0, p.failed("running one instruction", err)
	}
	if err := p.stopped(unix.SIGTRAP, stepAgain); err != nil {
		return 0, err
	}
	if err := unix.PtraceGetRegs(p.tid, &regs); err != nil {
		return 0, p.failed("reading the result", err)
	}
	if result := int64(regs.Rax); result < 0 && result > -4096 {
		return 0, syscall.Errno(-result)
	}
	return regs.Rax, nil
}

// words are numbers as they lie in memory.
func words(list ...uint64) []byte {
	var raw []byte
	for _, n := range list {
		raw = binary.NativeEndian.AppendUint64(raw, n)
	}
	return raw
}
