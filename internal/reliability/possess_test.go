//go:build reliability

package reliability

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

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

// asked says whether it ended as its parent has those end that it needs no longer: by itself, or killed after a while.
func (e ended) asked() bool { return e.status.ExitStatus() == 0 || e.status.Signal() == unix.SIGKILL }

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
// gone.
func (p *possessed) failed(what string, err error) error {
	var status unix.WaitStatus
	if pid, _ := unix.Wait4(p.tid, &status, unix.WALL|unix.WNOHANG, nil); pid == p.tid && !status.Stopped() {
		return ended{p.tid, status}
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
