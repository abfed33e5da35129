/* The simulation behind timeline.h, and its file. */
#define _GNU_SOURCE
#include "timeline.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

uint64_t clock_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void begin(struct timeline *t)
{
	struct timespec wall;
	pthread_mutexattr_t how;
	pthread_mutexattr_init(&how);
	pthread_mutexattr_setpshared(&how, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&how, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&t->lock, &how);
	clock_gettime(CLOCK_REALTIME, &wall);
	t->began = t->now = clock_ns();
	t->wall = (int64_t)wall.tv_sec * 1000000000 + wall.tv_nsec - (int64_t)t->began;
	for (int d = 0; d < MAX_DEVICES; d++)
		for (int e = 0; e < ENGINES; e++)
			t->devices[d].now[e].stream = -1;
	__atomic_store_n(&t->ready, 2, __ATOMIC_RELEASE);
}

struct timeline *timeline_map(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		fd = open(path, O_RDWR | O_CLOEXEC); /* a confined reader may not create */
	if (fd < 0)
		return NULL;
	if (lseek(fd, 0, SEEK_END) < (off_t)sizeof(struct timeline) && ftruncate(fd, sizeof(struct timeline))) {
		close(fd);
		return NULL;
	}
	struct timeline *t = mmap(NULL, sizeof *t, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (t == MAP_FAILED)
		return NULL;
	uint32_t none = 0;
	if (__atomic_compare_exchange_n(&t->ready, &none, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		begin(t);
	while (__atomic_load_n(&t->ready, __ATOMIC_ACQUIRE) != 2)
		usleep(100);
	return t;
}

void timeline_lock(struct timeline *t)
{
	if (pthread_mutex_lock(&t->lock) == EOWNERDEAD)
		pthread_mutex_consistent(&t->lock); /* who held it was killed: what it was about to book is booked now */
	timeline_advance(t, clock_ns());
}

void timeline_unlock(struct timeline *t) { pthread_mutex_unlock(&t->lock); }

static struct op *at(struct timeline *t, int stream, uint64_t number) { return &t->streams[stream].ops[number % RING]; }

static struct op *head(struct timeline *t, int stream)
{
	struct stream *s = &t->streams[stream];
	return s->used && s->head < s->tail ? at(t, stream, s->head) : NULL;
}

static void end(struct timeline *t, int stream)
{
	struct stream *s = &t->streams[stream];
	uint64_t index = (t->now - t->began) / BIN_NS;
	struct op *o = at(t, stream, s->head);
	o->ended = t->now;
	s->head++;
	if (o->kind == STEP && index < BINS)
		t->slots[s->slot].bins[index][STEPS]++;
}

/* released says whether a collective has all its ranks, so that it transfers instead of waiting. */
static int released(const struct timeline *t, const struct op *o)
{
	return o->kind != COLLECTIVE || t->arrived[o->other] >= o->number * (uint64_t)o->ranks;
}

static enum engine engine_of(const struct op *o) { return o->kind == COPY ? COPIES : COMPUTE; }

/* contends says whether a stream's next operation wants an engine of a device. */
static int contends(struct timeline *t, int stream, int device, enum engine engine)
{
	struct op *o = head(t, stream);
	return o && o->kind <= COPY && engine_of(o) == engine && t->slots[t->streams[stream].slot].device == device;
}

/*
 * choose gives an engine to the next stream in turn. Kernels of one process run one after the other, whatever their
 * streams, as kernels do that fill the device; those of several processes take turns.
 */
static int choose(struct timeline *t, int device, enum engine engine, int after)
{
	for (int i = 1; i <= MAX_STREAMS; i++) {
		int s = (after + i + MAX_STREAMS) % MAX_STREAMS;
		if (contends(t, s, device, engine))
			return s;
	}
	return -1;
}

/* rival says whether another process wants the engine. */
static int rival(struct timeline *t, int device, enum engine engine, int stream)
{
	for (int s = 0; s < MAX_STREAMS; s++)
		if (t->streams[s].slot != t->streams[stream].slot && contends(t, s, device, engine))
			return 1;
	return 0;
}

/* settle does all that takes no time: ends what has had its time, passes events and waits, gives free engines away. */
static void settle(struct timeline *t)
{
	for (int changed = 1; changed;) {
		changed = 0;
		for (int s = 0; s < MAX_STREAMS; s++) {
			struct op *o;
			while ((o = head(t, s))) {
				if (o->kind <= COPY && !(o->started && o->left <= 0 && released(t, o)))
					break;
				if (o->kind == WAIT && t->streams[o->other].head <= o->number)
					break;
				end(t, s);
				changed = 1;
			}
		}
		for (int d = 0; d < MAX_DEVICES; d++)
			for (enum engine e = 0; e < ENGINES; e++) {
				struct running *now = &t->devices[d].now[e];
				int held = now->stream >= 0 && contends(t, now->stream, d, e);
				int over = held && e == COMPUTE && t->now - now->since >= settings.slice && rival(t, d, e, now->stream);
				if (!held || over) {
					int next = choose(t, d, e, now->stream);
					if (next != now->stream || over)
						now->since = t->now;
					now->stream = next;
				}
				if (now->stream < 0)
					continue;
				struct op *o = head(t, now->stream);
				if (!o->started) {
					o->started = changed = 1;
					if (o->kind == COLLECTIVE)
						t->arrived[o->other]++;
				}
			}
	}
}

/* next is the first moment after now at which something can change by itself. */
static uint64_t next(struct timeline *t, uint64_t to)
{
	for (int d = 0; d < MAX_DEVICES; d++)
		for (enum engine e = 0; e < ENGINES; e++) {
			const struct running *now = &t->devices[d].now[e];
			if (now->stream < 0)
				continue;
			const struct op *o = head(t, now->stream);
			if (o->left > 0 && released(t, o) && t->now + (uint64_t)o->left < to)
				to = t->now + (uint64_t)o->left;
			uint64_t turn = now->since + settings.slice;
			if (e == COMPUTE && turn > t->now && turn < to && rival(t, d, e, now->stream))
				to = turn;
		}
	return to;
}

static struct fine *fine_at(struct device *d, uint64_t index)
{
	struct fine *f = &d->fine[index % FINE_BINS];
	if (f->index != index)
		*f = (struct fine){.index = index};
	return f;
}

static void book_device(struct timeline *t, int number, uint64_t from, uint64_t to)
{
	struct device *d = &t->devices[number];
	const struct op *kernel = d->now[COMPUTE].stream < 0 ? NULL : head(t, d->now[COMPUTE].stream);
	const struct op *copy = d->now[COPIES].stream < 0 ? NULL : head(t, d->now[COPIES].stream);
	double took = (double)(to - from);
	if (kernel)
		d->busy += took, d->active += took * kernel->activity;
	if (copy)
		d->copied += took / 1e9 * settings.link;
	for (uint64_t at = from; at < to;) {
		uint64_t index = (at - t->began) / FINE_NS, until = t->began + (index + 1) * FINE_NS;
		struct fine *f = fine_at(d, index);
		if (until > to)
			until = to;
		if (kernel)
			f->busy += until - at, f->active += (double)(until - at) * kernel->activity;
		if (copy)
			f->copying += until - at;
		at = until;
	}
}

static void book_rank(struct timeline *t, int number, uint64_t from, uint64_t to)
{
	struct slot *k = &t->slots[number];
	struct device *d = &t->devices[k->device];
	int computing = d->now[COMPUTE].stream, copying = d->now[COPIES].stream;
	int copies = copying >= 0 && t->streams[copying].slot == number;
	enum what what = k->waiting ? STARVED : IDLE;
	if (copies || k->staging)
		what = IDLE_COPY;
	if (computing >= 0) {
		const struct op *o = head(t, computing);
		what = o->kind != COLLECTIVE ? BUSY : released(t, o) ? COMM : SPIN;
		if (t->streams[computing].slot != number)
			what = OTHERS;
	}
	for (uint64_t at = from; at < to;) {
		uint64_t index = (at - t->began) / BIN_NS, until = t->began + (index + 1) * BIN_NS;
		if (index >= BINS)
			return;
		if (until > to)
			until = to;
		k->bins[index][what] += until - at;
		if (k->waiting)
			k->bins[index][WAITED] += until - at;
		if (k->waiting && what == OTHERS)
			k->bins[index][UNFED] += until - at;
		if (copies)
			k->bins[index][COPIED] += until - at;
		if (k->outside)
			k->bins[index][OUTSIDE] += until - at;
		at = until;
	}
}

void timeline_advance(struct timeline *t, uint64_t to)
{
	settle(t);
	while (t->now < to) {
		uint64_t until = next(t, to);
		for (int d = 0; d < units(); d++)
			book_device(t, d, t->now, until);
		for (int s = 0; s < MAX_SLOTS; s++)
			if (t->slots[s].used)
				book_rank(t, s, t->now, until);
		for (int d = 0; d < units(); d++)
			for (enum engine e = 0; e < ENGINES; e++) {
				struct op *o = t->devices[d].now[e].stream < 0 ? NULL : head(t, t->devices[d].now[e].stream);
				if (o && released(t, o))
					o->left -= (int64_t)(until - t->now);
			}
		t->now = until;
		settle(t);
	}
}

uint64_t timeline_left(const struct timeline *t, int stream, uint64_t number)
{
	const struct stream *s = &t->streams[stream];
	uint64_t sum = 0;
	for (uint64_t n = s->head; n <= number && n < s->tail; n++)
		if (s->ops[n % RING].left > 0)
			sum += (uint64_t)s->ops[n % RING].left;
	return sum;
}
