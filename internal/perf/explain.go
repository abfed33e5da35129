package perf

import (
	"errors"
	"fmt"
	"syscall"
)

// ownParanoia is the highest kernel.perf_event_paranoid at which everyone may clock the user code of their own
// threads. Debian and Ubuntu set 3 and 4, which other kernels do not know.
const ownParanoia = 2

// Explain puts an error of Open into words: why there are no samples, and what would change that, "" where nothing
// would. paranoid is kernel.perf_event_paranoid, below zero also where it could not be read. gone says that the
// thread has ended, and nothing is wrong.
func Explain(err error, paranoid int) (reason, cure string, gone bool) {
	switch {
	case errors.Is(err, syscall.ESRCH):
		return "the thread ended", "", true
	case (errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EPERM)) && paranoid > ownParanoia:
		return fmt.Sprintf("kernel.perf_event_paranoid is %d: only root may sample where threads execute", paranoid),
			fmt.Sprintf("sudo sysctl kernel.perf_event_paranoid=%d", ownParanoia), false
	case errors.Is(err, syscall.EACCES):
		return "the kernel samples threads only for their own user", "run pipetune as the user of the job, or as root",
			false
	case errors.Is(err, syscall.EPERM):
		return "perf_event_open is refused, by a container's system-call filter as a rule",
			"run pipetune on the host, or start its container with --cap-add PERFMON", false
	case errors.Is(err, syscall.ENOSYS), errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.EOPNOTSUPP),
		errors.Is(err, syscall.ENODEV):
		return "this kernel has no perf events", "", false
	}
	return err.Error(), "", false
}
