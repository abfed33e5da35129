// Package oomscore makes this program the first that the kernel's memory killer ends, before Go's runtime runs. A job
// that shares a memory limit with it would be chosen otherwise while pipetune begins: the killer takes the largest, and
// until oom_score_adj says 1000 that is the job.
//
// A command line with an argument -- may start a job, which would inherit the value: there it is left to
// isolate.RaiseOOMScore, once the job runs. The job of the demo is pipetune's own, and goes with it.
//
// To import it is all: the package has no names.
package oomscore

import "C"
