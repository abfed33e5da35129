package procfs

import (
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestPollDescriptor reads this process's own memory, as another's is read.
func TestPollDescriptor(t *testing.T) {
	polled := []unix.PollFd{{Fd: 17, Events: unix.POLLIN}, {Fd: 3}}
	at := func(i int) uint64 { return uint64(uintptr(unsafe.Pointer(&polled[i]))) }
	if fd, ok := PollDescriptor(os.Getpid(), at(0)); !ok || fd != 17 {
		t.Errorf("got %d, %v", fd, ok)
	}
	polled[1].Fd = -1 // poll passes it over
	if fd, ok := PollDescriptor(os.Getpid(), at(1)); ok {
		t.Errorf("a number below zero: %d", fd)
	}
	if fd, ok := PollDescriptor(os.Getpid(), 8); ok {
		t.Errorf("no memory there: %d", fd)
	}
	if fd, ok := PollDescriptor(1<<22+1, at(0)); ok {
		t.Errorf("no such process: %d", fd)
	}
}
