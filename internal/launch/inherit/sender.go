package inherit

// #include "sender.h"
import "C"

import "syscall"

// WatchSender begins to note who sends a signal that signal.Notify takes already.
func WatchSender(s syscall.Signal) { C.pipetune_watch_sender(C.int(s)) }

// FromKernel reports whether the kernel has sent a signal since it was last asked, as it does for a terminal,
// whatever processes have sent with kill since; true too where that is not known. What the kernel sent is reported
// once, for Go makes one of signals that come at once.
func FromKernel(s syscall.Signal) bool { return C.pipetune_from_kernel(C.int(s)) != 0 }
