package storage

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// mincoreOf calls mincore(2), which x/sys does not wrap: a byte for each page of m, its lowest bit says resident.
func mincoreOf(m, flags []byte) error {
	_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&m[0])), uintptr(len(m)),
		uintptr(unsafe.Pointer(&flags[0])))
	if errno != 0 {
		return errno
	}
	return nil
}
