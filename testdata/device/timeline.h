/*
 * The timeline of stand-in GPUs: what is queued, what runs, and what has run, in a file that the processes of a job,
 * the libcuda and the libnvidia-ml beside this header map. It is a simulation on CLOCK_MONOTONIC that nobody drives:
 * whoever looks brings it up to the present first, under one lock. Nothing depends on when somebody looks, because
 * work can only be added at the present.
 */
#ifndef TIMELINE_H
#define TIMELINE_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

enum {
	MAX_DEVICES = 8, MAX_SLOTS = 16, MAX_STREAMS = 64, MAX_GROUPS = 8,
	RING = 4096,      /* operations of a stream that are remembered; more may not be outstanding */
	FINE_BINS = 1024, /* of a device, remembered for the driver's samples */
	BINS = 8192,      /* of a rank, from the beginning: 13 minutes */
};
static const uint64_t FINE_NS = 20 * 1000 * 1000, BIN_NS = 100 * 1000 * 1000;

/* What the link carries for a byte that is copied: what its protocol adds is counted with it. */
static const double TRAFFIC = 1.08;

enum kind { KERNEL, COLLECTIVE, COPY, WAIT, EVENT, STEP };
enum engine { COMPUTE, COPIES, ENGINES };

/*
 * What a rank's time on its device went to, in nanoseconds per bin; the first seven exclude each other and add up to
 * the bin.
 */
enum what {
	BUSY,       /* a kernel of this process runs */
	COMM,       /* its collective transfers: every rank has arrived */
	SPIN,       /* its collective waits for other ranks: the device is "busy" and does nothing */
	OTHERS,     /* nothing of this process, a kernel of another one */
	IDLE_COPY,  /* no kernel at all, a copy of this process or the host's part of one */
	STARVED,    /* nothing at all, and the rank waits for its next batch */
	IDLE,       /* nothing at all, for another reason */
	WAITED,     /* the rank waits for its next batch, whatever the device does */
	COPIED,     /* a copy of this process runs, whatever else does */
	UNFED,      /* of OTHERS: the rank waits for its next batch meanwhile */
	OUTSIDE,    /* the rank evaluates or writes a checkpoint: no training */
	STEPS,      /* a count: when the device has done all that was queued for a step */
	WHATS
};

struct op {
	enum kind kind;
	float activity;   /* share of the SMs' time, while it runs */
	int64_t left;     /* nanoseconds of the engine's time it still needs */
	uint64_t ended;   /* when; 0: it has not */
	int started, arrived;
	int other;        /* WAIT: the stream waited for; COLLECTIVE: the group */
	uint64_t number;  /* WAIT: its operation; COLLECTIVE: which of the group's, from 1 */
	int ranks;
};

struct stream {
	int used, slot;
	uint64_t head, tail; /* operations that have ended, and that were submitted */
	struct op ops[RING];
};

struct running { int stream; uint64_t since; }; /* -1: none */

struct fine { uint64_t index; uint64_t busy, copying; double active; };

struct device {
	struct running now[ENGINES];
	double busy, active, copied;   /* since the beginning: ns, ns times activity, bytes */
	struct fine fine[FINE_BINS];
};

struct slot {
	int used, pid, rank, device;
	int waiting, outside, staging;
	uint64_t since, memory;
	uint64_t bins[BINS][WHATS];
};

struct timeline {
	uint32_t ready;
	pthread_mutex_t lock;
	uint64_t began, now;     /* CLOCK_MONOTONIC */
	int64_t wall;            /* CLOCK_REALTIME minus CLOCK_MONOTONIC when it began */
	struct device devices[MAX_DEVICES];
	struct slot slots[MAX_SLOTS];
	struct stream streams[MAX_STREAMS];
	uint64_t arrived[MAX_GROUPS];
};

/* What device.conf beside the library says, one "key value" per line. */
struct settings {
	int devices, gpm, utilization, process_memory, lanes, generation;
	int mig;                 /* instances that each GPU is cut into; 0: MIG is off */
	int queue;               /* launches that may be outstanding */
	uint64_t slice;          /* ns that a process computes before another one's turn */
	double link;             /* bytes/s of a copy between pinned memory and the device */
	int sample;              /* ms of one sample of utilization, a multiple of 20 */
	double staging;          /* bytes/s of the host's part of a copy from pageable memory */
	char name[64], timeline[256];
};

extern struct settings settings;

/*
 * What computes: a GPU, or one of its instances. They are numbered from 0, GPU by GPU; units is how many there are.
 */
int units(void);

/* unit_uuid is the name that NVML gives a unit, and CUDA_VISIBLE_DEVICES takes. */
void unit_uuid(int unit, char *to, size_t room);

/* timeline_open maps the file that device.conf beside this library names; NULL with errno where it cannot. */
struct timeline *timeline_open(void);

/* timeline_lock takes the lock and brings everything up to the present. */
void timeline_lock(struct timeline *t);
void timeline_unlock(struct timeline *t);

/* timeline_advance brings everything up to a moment; the lock must be held. */
void timeline_advance(struct timeline *t, uint64_t to);

/* timeline_left is the least time until an operation can have ended, 0 where it has or where that depends on others. */
uint64_t timeline_left(const struct timeline *t, int stream, uint64_t number);

uint64_t clock_ns(void);

#endif
