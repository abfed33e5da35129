package hdf5

/*
#cgo noescape sweep_steps
#cgo nocallback sweep_steps
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <hdf5.h>
#include "view.h"

// One item of a sweep.
struct step {
	struct view *v;
	size_t bytes;
	size_t corner;     // of a block: where its start lies in the list of numbers, with its count behind it
	long long index;   // of a whole item; -1 for a block
	bool clear;        // libhdf5 may leave parts of the bytes as they were
};

static long long nanoseconds(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t); // served without a system call on nearly all machines
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static herr_t take_step(const struct step *s, const long long *numbers, void *to) {
	const long long *start = numbers + s->corner;
	if (s->clear) memset(to, 0, s->bytes);
	if (s->bytes == 0) return 0;
	return s->index >= 0 ? view_item(s->v, s->index, to) : view_block(s->v, start, start + s->v->rank, to);
}

// sweep_steps reads one item after the other to the same place, until one fails or ends past the limit, and returns how many it read.
static size_t sweep_steps(const struct step *steps, size_t n, const long long *numbers, void *to, long long limit, long long *took, int *failed) {
	long long began = nanoseconds(), last = began;
	for (size_t i = 0; i < n; i++) {
		if (take_step(&steps[i], numbers, to) < 0) { *failed = 1; return i; }
		long long now = nanoseconds();
		took[i] = now - last;
		last = now;
		if (now - began >= limit) return i + 1;
	}
	return n;
}
*/
import "C"

import (
	"time"
	"unsafe"
)

// step is one item of a sweep, in the layout of C.
type step C.struct_step

// itemStep is a whole item.
func itemStep(index, bytes int64, clear bool) step {
	return step{index: C.longlong(index), bytes: C.size_t(bytes), clear: C.bool(clear)}
}

// blockStep is a block whose start and count lie at corner in the list of numbers.
func blockStep(corner int, bytes int64, clear bool) step {
	return step{index: -1, corner: C.size_t(corner), bytes: C.size_t(bytes), clear: C.bool(clear)}
}

// sweep reads the steps, one at least, whose views are set by then. took and to have room for them. The error is of the
// step that comes after those that are done.
func sweep(steps []step, numbers []int64, to []byte, limit time.Duration, took []time.Duration) (done int, err error) {
	var failed C.int
	n := C.sweep_steps((*C.struct_step)(unsafe.SliceData(steps)), C.size_t(len(steps)),
		(*C.longlong)(unsafe.SliceData(numbers)), unsafe.Pointer(unsafe.SliceData(to)), C.longlong(limit),
		(*C.longlong)(unsafe.Pointer(unsafe.SliceData(took))), &failed)
	if done = int(n); failed != 0 {
		return done, words(&steps[done].v.why)
	}
	return done, nil
}
