package isolate

import "golang.org/x/sys/unix"

const (
	auditArch     = unix.AUDIT_ARCH_AARCH64
	highestNumber = 0x3fffffff
)

// forbiddenHere are calls that only this architecture has, or has by this name.
var forbiddenHere = []uintptr{unix.SYS_KEXEC_FILE_LOAD}
