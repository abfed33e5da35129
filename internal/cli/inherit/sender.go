package inherit

// #include "sender.h"
import "C"

import "syscall"

// WatchSender begins to note who sends a signal that signal.Notify takes already.
func WatchSender(s syscall.Signal) { C.pipetune_watch_sender(C.int(s)) }

// FromProcess reports whether the last one of a signal was sent by a process, as kill does; false where the kernel sent it, as it does for a terminal, or
// where that is not known.
func FromProcess(s syscall.Signal) bool { return C.pipetune_from_process[s] != 0 }
