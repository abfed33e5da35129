/*
 * The libcuda.so.1 of a stand-in GPU: what a job calls, by device.py. Calls that wait do it as a driver does, in the
 * caller's thread and inside this library, so that whoever resolves a thread's instruction address finds libcuda
 * there.
 *
 * Operations of a stream are numbered from 0. A call that submits one returns its number; those that fail return -1
 * and set errno.
 */
#define _GNU_SOURCE
#include "timeline.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum sync { SPIN_SYNC, YIELD_SYNC, BLOCK_SYNC };

static struct timeline *t;
static int mine = -1; /* this process's slot */

/* A thread that waits by spinning asks the simulation no more often than this: its lock is everyone's. */
static const uint64_t RECHECK_NS = 20 * 1000;

/* dev_attach only maps the timeline, to read the truth or to look at a device. */
EXPORT int dev_attach(void) { return (t = timeline_open()) ? 0 : -1; }

/* visible finds a device among those that a process may see: of GPUs in MIG mode CUDA shows it one instance. */
static int visible(int device)
{
	const char *named = getenv("CUDA_VISIBLE_DEVICES");
	if (!settings.mig)
		return device < units() ? device : -1;
	for (int u = 0; device == 0 && u < units(); u++) {
		char uuid[64];
		unit_uuid(u, uuid, sizeof uuid);
		if (!named || !strcmp(named, uuid))
			return u;
	}
	return -1;
}

/* dev_open makes this process one that computes on a device, as a context does. */
EXPORT int dev_open(int device, int rank)
{
	if (dev_attach())
		return -1;
	if ((device = visible(device)) < 0) {
		errno = ENODEV;
		return -1;
	}
	timeline_lock(t);
	for (int s = 0; s < MAX_SLOTS && mine < 0; s++)
		if (!t->slots[s].used)
			mine = s;
	if (mine >= 0) {
		struct slot *k = &t->slots[mine];
		k->pid = getpid(), k->rank = rank, k->device = device, k->since = t->now, k->memory = 500u << 20;
		k->used = 1;
	}
	timeline_unlock(t);
	errno = EBUSY;
	return mine < 0 ? -1 : 0;
}

EXPORT void dev_alloc(uint64_t bytes)
{
	timeline_lock(t);
	t->slots[mine].memory += bytes;
	timeline_unlock(t);
}

EXPORT int dev_stream(void)
{
	int found = -1;
	timeline_lock(t);
	for (int s = 0; s < MAX_STREAMS && found < 0; s++)
		if (!t->streams[s].used) {
			t->streams[s].used = 1, t->streams[s].slot = mine;
			found = s;
		}
	timeline_unlock(t);
	return found;
}

static int done(int stream, int64_t number)
{
	timeline_lock(t);
	int yes = t->streams[stream].head > (uint64_t)number;
	timeline_unlock(t);
	return yes;
}

/* spin keeps the CPU until a moment: a driver polls a word in memory and the clock. */
static __attribute__((noinline)) void spin(uint64_t until, int yield)
{
	while (clock_ns() < until)
		if (yield)
			sched_yield();
}

/*
 * submit appends an operation. Where too much is outstanding it waits for room, spinning, as a launch into a full
 * queue does.
 */
static int64_t submit(int stream, struct op o)
{
	struct stream *s = &t->streams[stream];
	timeline_lock(t);
	while (s->tail - s->head >= (uint64_t)settings.queue) {
		uint64_t room = t->now + timeline_left(t, stream, s->head);
		timeline_unlock(t);
		spin(room > clock_ns() + RECHECK_NS ? room : clock_ns() + RECHECK_NS, 0);
		timeline_lock(t);
	}
	int64_t number = (int64_t)s->tail;
	s->ops[number % RING] = o;
	s->tail++;
	timeline_advance(t, t->now);
	timeline_unlock(t);
	return number;
}

EXPORT int64_t dev_launch(int stream, int64_t ns, double activity)
{
	return submit(stream, (struct op){.kind = KERNEL, .left = ns, .activity = (float)activity});
}

/*
 * dev_collective is a kernel that waits for those of the other ranks, keeping its device, and then transfers. number
 * counts the group's from 1.
 */
EXPORT int64_t dev_collective(int stream, int group, int64_t number, int ranks, int64_t ns, double activity)
{
	return submit(stream, (struct op){.kind = COLLECTIVE, .left = ns, .activity = (float)activity, .other = group,
		.number = (uint64_t)number, .ranks = ranks});
}

/* dev_record marks a place in a stream; dev_time tells when it was passed. */
EXPORT int64_t dev_record(int stream) { return submit(stream, (struct op){.kind = EVENT}); }

/* dev_wait keeps a stream from going on before an operation of another one has ended. */
EXPORT int64_t dev_wait(int stream, int other, int64_t number)
{
	return submit(stream, (struct op){.kind = WAIT, .other = other, .number = (uint64_t)number});
}

EXPORT int dev_query(int stream, int64_t number) { return done(stream, number); }

EXPORT int64_t dev_time(int stream, int64_t number)
{
	timeline_lock(t);
	int64_t when = (int64_t)t->streams[stream].ops[number % RING].ended;
	timeline_unlock(t);
	return when;
}

/*
 * A thread that blocks sleeps on a futex without a time-out, as one of a driver does until its thread for interrupts
 * wakes it. Here each has a thread of its own that wakes it.
 */
struct alarm { pthread_mutex_t lock; pthread_cond_t set, rang; uint64_t until; };

static void *ring(void *of)
{
	struct alarm *a = of;
	pthread_mutex_lock(&a->lock);
	for (;;) {
		while (!a->until)
			pthread_cond_wait(&a->set, &a->lock);
		struct timespec when = {(time_t)(a->until / 1000000000u), (long)(a->until % 1000000000u)};
		pthread_mutex_unlock(&a->lock);
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL) == EINTR)
			;
		pthread_mutex_lock(&a->lock);
		a->until = 0;
		pthread_cond_signal(&a->rang);
	}
	return NULL;
}

static void sleep_until(uint64_t until)
{
	static __thread struct alarm *a;
	if (!a) {
		pthread_t thread;
		sigset_t all, before;
		a = malloc(sizeof *a);
		*a = (struct alarm){PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};
		sigfillset(&all); /* the job's signals are for its own threads */
		pthread_sigmask(SIG_SETMASK, &all, &before);
		if (pthread_create(&thread, NULL, ring, a))
			abort();
		pthread_sigmask(SIG_SETMASK, &before, NULL);
		pthread_setname_np(thread, "cuda-EvtHandlr");
		pthread_detach(thread);
	}
	pthread_mutex_lock(&a->lock);
	a->until = until;
	pthread_cond_signal(&a->set);
	while (a->until)
		pthread_cond_wait(&a->rang, &a->lock);
	pthread_mutex_unlock(&a->lock);
}

static __attribute__((noinline)) void wait_for(int stream, int64_t number, int how)
{
	for (;;) {
		timeline_lock(t);
		uint64_t left = timeline_left(t, stream, (uint64_t)number), now = t->now;
		int over = t->streams[stream].head > (uint64_t)number;
		timeline_unlock(t);
		if (over)
			return;
		if (how == BLOCK_SYNC)
			sleep_until(now + (left > 10 * RECHECK_NS ? left : 10 * RECHECK_NS));
		else
			spin(now + (left > RECHECK_NS ? left : RECHECK_NS), how == YIELD_SYNC);
	}
}

/* dev_sync waits until an operation has ended; a negative one means the last. */
EXPORT void dev_sync(int stream, int64_t number, int how)
{
	if (number < 0) {
		timeline_lock(t);
		number = (int64_t)t->streams[stream].tail - 1;
		timeline_unlock(t);
		if (number < 0)
			return;
	}
	wait_for(stream, number, how);
}

static struct op copy_of(uint64_t bytes)
{
	return (struct op){.kind = COPY, .left = (int64_t)(1e9 * (double)bytes / settings.link)};
}

static void mark(int *what, int yes)
{
	timeline_lock(t);
	*what = yes;
	timeline_unlock(t);
}

/*
 * dev_copy copies to the device. From pinned memory it returns at once. From pageable memory it waits for the stream,
 * then copies piece by piece through a pinned buffer of the driver's, keeping the CPU, and returns with the last
 * piece on its way.
 */
EXPORT int64_t dev_copy(int stream, uint64_t bytes, int pinned)
{
	static char piece[1 << 20], buffer[1 << 20];
	if (pinned)
		return submit(stream, copy_of(bytes));
	dev_sync(stream, -1, SPIN_SYNC);
	int64_t number = -1;
	mark(&t->slots[mine].staging, 1);
	for (uint64_t done = 0; done < bytes; done += 4 << 20) {
		uint64_t part = bytes - done < 4 << 20 ? bytes - done : 4 << 20;
		uint64_t until = clock_ns() + (uint64_t)(1e9 * (double)part / settings.staging);
		while (clock_ns() < until)
			memcpy(buffer, piece, 1 << 16);
		number = submit(stream, copy_of(part));
	}
	mark(&t->slots[mine].staging, 0);
	return number;
}

/*
 * The truth about a rank's loop, which only the loop knows: dev_waiting brackets next(), dev_outside what is no
 * training, dev_step stands behind a step's work.
 */
EXPORT void dev_waiting(int yes) { mark(&t->slots[mine].waiting, yes); }
EXPORT void dev_outside(int yes) { mark(&t->slots[mine].outside, yes); }

EXPORT int64_t dev_step(int stream) { return submit(stream, (struct op){.kind = STEP}); }

/* dev_slot describes a slot: 0 where it is not used. dev_bins copies its bins; both are for the truth's reader. */
EXPORT int dev_slot(int slot, int64_t *pid, int64_t *rank, int64_t *device)
{
	if (slot < 0 || slot >= MAX_SLOTS || !t->slots[slot].used)
		return 0;
	*pid = t->slots[slot].pid, *rank = t->slots[slot].rank, *device = t->slots[slot].device;
	return 1;
}

EXPORT int dev_bins(int slot, uint64_t *to, int room)
{
	timeline_lock(t);
	int n = (int)((t->now - t->began) / BIN_NS);
	n = n < room ? n : room;
	memcpy(to, t->slots[slot].bins, (size_t)n * sizeof t->slots[slot].bins[0]);
	timeline_unlock(t);
	return n;
}

EXPORT void dev_clock(int64_t *began, int64_t *wall, int64_t *bin)
{
	*began = (int64_t)t->began, *wall = t->wall, *bin = (int64_t)BIN_NS;
}
