package isolate

import "os"

// RaiseOOMScore makes the calling process, and those it starts from then on, the first that the kernel's memory killer
// ends (proc_pid_oom_score_adj(5)), so that a job hardly ever dies in its place: under the limit of a control group,
// one with more resident than the limit, which needs mapped files that another group pays for, still comes first. It
// needs no rights: a process may always be made more likely. Where /proc is read-only all stays as it is, which is no
// reason not to go on. A program that starts a job does so first.
func RaiseOOMScore() {
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
}
