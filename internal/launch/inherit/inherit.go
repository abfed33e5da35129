// Package inherit knows what this program was started with and Go's runtime replaces before anything of ours runs:
// the signals that were ignored, and who sends one. nohup, systemd and the runners of CI start programs so, and a job
// has to be started with the same.
package inherit

// #include "ignored.h"
import "C"

import (
	"os/signal"
	"syscall"
)

// handed are the signals whose being ignored can be handed on. Of the others SIGCHLD would take away the job's
// status, SIGURG is the runtime's own and ignored by default, and the stops of a terminal, which the runtime leaves
// alone, are handed on anyhow.
var handed = []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2,
	syscall.SIGPIPE, syscall.SIGALRM, syscall.SIGTERM, syscall.SIGXCPU, syscall.SIGXFSZ, syscall.SIGVTALRM,
	syscall.SIGWINCH, syscall.SIGIO, syscall.SIGPWR}

// Restore ignores the signals again that were ignored when this program was started and can be handed on, here and in
// every program that is started from here.
func Restore() {
	for _, s := range handed {
		if uint64(C.pipetune_ignored_at_start)&(1<<uint(s)) != 0 {
			signal.Ignore(s)
		}
	}
}
