// Package replay judges recordings and benchmarks that were kept anew, and holds what is concluded to what was true of
// the jobs: on the stand-in GPU, in the cases that people reported, and of the plans that are made. It has no code of
// its own, starts no process and needs no clock, so its tests run without the race detector. The suite's own jobs are
// replayed by internal/e2e, which has their table.
package replay
