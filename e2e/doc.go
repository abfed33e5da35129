// Package e2e runs real PyTorch jobs with a planted fault each, lets pipetune diagnose them from outside while they run, and
// holds what it says against what was planted and against the trainer's own stop-watch.
//
// It is behind the build tag e2e, because it takes half an hour and needs PyTorch:
//
//	make e2e                                          all jobs, with the PyTorch of this machine
//	make e2e TORCH=sid                                the same with the PyTorch of another Debian suite, in a chroot (torch.sh)
//	E2E_JOBS='hdf5|control' go test -tags e2e ./e2e   some jobs
//
// The environment says the rest: PIPETUNE_BIN (the binary, default ../bin/pipetune), PYTHON (default /usr/bin/python3),
// E2E_SUITE=1 (only the suite that continuous integration runs), TORCH_ROOT (a folder to chroot into), E2E_KEEP (a folder that keeps each report, recording and
// stop-watch), E2E_ATTEMPTS (how often a disturbed case is run, default 3), and E2E_ALLOW_MISSING (a
// comma-separated list of storage, shm, quota: surroundings that may be impossible here without failing the run).
package e2e
