// Package e2e runs real PyTorch jobs with a planted fault each, lets pipetune diagnose them from outside while they
// run, and holds what it says against what was planted and against the trainer's own stop-watch.
//
// It is behind the build tag e2e, because it takes half an hour and needs PyTorch:
//
//	make e2e                                          all jobs, with the newest PyTorch (scripts/python-env)
//	make e2e PYTHON=FILE                              with that of an interpreter
//	make e2e-old                                      some jobs, with Debian's PyTorch 1.13
//	make e2e TORCH=sid                                with the PyTorch of another Debian suite (scripts/torch)
//	E2E_JOBS='hdf5|control' go test -tags e2e ./internal/e2e   some jobs
//	make device DEVICE='async'                        training loops on a stand-in GPU (testdata/device)
//
// The environment says the rest: PIPETUNE_BIN (the binary, default ../../bin/pipetune), PYTHON (default
// /usr/bin/python3), E2E_SUITE (any value: only the rows that `make test` runs live), TORCH_ROOT (a folder to chroot
// into), E2E_KEEP (a folder that keeps each report, recording and stop-watch), E2E_RESULTS and E2E_PART
// (docs/calibration.md).
//
// # When a row fails
//
// A wrong verdict on a quiet machine is never excused. A figure that other programs disturbed is measured again.
//
// A row is measured at most three times. It passes with the first attempt that meets all its bounds, unless an earlier
// attempt came to a wrong verdict while others used less than 0.1 cores, counted over the attempt: a single right one
// does not make up for that, two do. The same wrong verdict in two attempts on a quiet machine fails the row whatever
// the third says. Where no attempt meets all bounds, the row fails with what the best of them missed.
//
// Whether the planted fault shows at all is for the trainer's own stop-watch to say, which does not look at the report.
// Where it does not show in any attempt, the verdict proves nothing: that fails the row where one of the attempts was
// quiet, and passes it with NOT SHOWN where others took the CPUs each time. More than one such job in ten fails the
// table.
//
// Every attempt with its figures and the cores that others used is in the log and in the table, in the column TRIES.
// Limits of time in these tests end what hangs and are minutes long.
package e2e
