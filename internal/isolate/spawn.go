package isolate

/*
#include <stdlib.h>
#include "spawn.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A child is started by C, not by os/exec: Go's own fork holds a processor of the runtime until execve has come back,
// so that a program on a file system that hangs stops all of pipetune at the next garbage collection (docs/adr/0009).

// spawnFiles is how many descriptors a child is given.
const spawnFiles = C.SPAWN_FILES

// program is what to run. Of the descriptors only files are passed on, as 0 to 4; nil is /dev/null.
type program struct {
	path  string
	args  []string
	env   []string
	files [spawnFiles]*os.File
	reach reach
}

// started is a child whose program may not run yet.
type started struct {
	process *os.Process
	status  *os.File // says how execve ended
	free    func()   // gives back what the child shares with us until then
}

// spawn starts a child from the calling thread, whose end is the child's too.
func spawn(p program) (*started, error) {
	status, childStatus, err := pipe(true)
	if err != nil {
		return nil, err
	}
	defer childStatus.Close()
	shared, free := share(p, childStatus)
	pid := int(C.spawn(shared))
	if pid < 0 {
		free()
		status.Close()
		return nil, os.NewSyscallError("clone", syscall.Errno(-pid))
	}
	process, err := os.FindProcess(pid) // by a pidfd, where the kernel has them
	if err != nil {
		// Not reached on Linux. The child dies with this thread; what it shares is lost.
		status.Close()
		return nil, fmt.Errorf("following child %d: %w", pid, err)
	}
	return &started{process: process, status: status, free: free}, nil
}

// share copies what the child reads out of the reach of Go's collector.
func share(p program, status *os.File) (shared *C.struct_spawn, free func()) {
	var blocks []unsafe.Pointer
	keep := func(block unsafe.Pointer) unsafe.Pointer {
		blocks = append(blocks, block)
		return block
	}
	text := func(s string) *C.char {
		c := C.CString(s)
		keep(unsafe.Pointer(c))
		return c
	}
	list := func(all []string) **C.char {
		first := (**C.char)(keep(C.calloc(C.size_t(len(all)+1), C.size_t(unsafe.Sizeof((*C.char)(nil))))))
		for i, s := range all {
			unsafe.Slice(first, len(all))[i] = text(s)
		}
		return first
	}
	shared = (*C.struct_spawn)(keep(C.calloc(1, C.sizeof_struct_spawn)))
	shared.program, shared.argv, shared.environment = text(p.path), list(p.args), list(p.env)
	for i, f := range p.files {
		shared.files[i] = -1
		if f != nil {
			shared.files[i] = C.int(f.Fd())
		}
	}
	shared.status, shared.parent = C.int(status.Fd()), C.int(os.Getpid())
	shared.capabilities = C.uint64_t(p.reach.capabilities)
	shared.files_forbidden, shared.net_forbidden = C.uint64_t(p.reach.forbidden.files),
		C.uint64_t(p.reach.forbidden.net)
	if n := len(p.reach.places); n > 0 {
		first := (*C.struct_place)(keep(C.calloc(C.size_t(n), C.sizeof_struct_place)))
		for i, at := range p.reach.places {
			c := &unsafe.Slice(first, n)[i]
			c.path, c.rights = text(at.path), C.uint64_t(at.rights)
			if at.foreign {
				c.foreign = 1
			}
		}
		shared.places, shared.places_count = first, C.int(n)
	}
	shared.stack = (*C.char)(keep(C.malloc(C.SPAWN_STACK)))
	return shared, func() {
		for _, block := range blocks {
			C.free(block)
		}
	}
}

// wait returns once the program runs, the child is dead, or with the reason why the program cannot be run. It is to be
// called once, and takes as long as the file system of the program and those of the places the child may use. Of the
// latter it tells: opens gets true when the child begins to open them, and false when it has.
func (s *started) wait(path string, opens func(bool)) error {
	defer s.free()
	defer s.status.Close()
	var cause error
	for {
		var word [4]byte
		switch _, err := io.ReadFull(s.status, word[:]); {
		case errors.Is(err, io.EOF): // closed by execve, or by the child's death, which its exit status tells
			return cause
		case err != nil:
			return fmt.Errorf("hearing whether the program runs: %w", err)
		}
		switch n := *(*int32)(unsafe.Pointer(&word)); n {
		case C.SPAWN_OPENS, C.SPAWN_OPENED:
			opens(n == C.SPAWN_OPENS)
		default:
			cause = &os.PathError{Op: "fork/exec", Path: path, Err: syscall.Errno(n)}
		}
	}
}

// pipe makes a pipe whose one end, ours, ends waiting at a deadline, while the child's blocks, as its program expects.
func pipe(weRead bool) (ours, theirs *os.File, err error) {
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, os.NewSyscallError("pipe2", err)
	}
	own, other := ends[0], ends[1]
	if !weRead {
		own, other = ends[1], ends[0]
	}
	if err := unix.SetNonblock(own, true); err != nil {
		unix.Close(own)
		unix.Close(other)
		return nil, nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(own), "|"), os.NewFile(uintptr(other), "|"), nil
}
