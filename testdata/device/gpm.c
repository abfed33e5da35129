/*
 * GPU performance monitoring of the stand-in libnvidia-ml: means between two samples, of a GPU or, with MIG, of an
 * instance.
 */
#define _GNU_SOURCE
#include "timeline.h"

#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

enum { SUCCESS = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NO_PERMISSION = 4, MEMORY = 20 };

enum { NO_GPM, GPM, REFUSED_GPM }; /* settings.gpm */

/* Of nvml.c; -1 where there is none. */
int unit_of(const void *handle);
int instance_of(const void *gpu, unsigned number);
int nvmlDeviceGetIndex(void *handle, unsigned *to);

struct sample { uint64_t at; double busy, active, copied; };

struct support { unsigned version, supported; };
EXPORT int nvmlGpmQueryDeviceSupport(void *handle, struct support *to)
{
	unsigned d;
	if (nvmlDeviceGetIndex(handle, &d))
		return INVALID_ARGUMENT;
	to->supported = settings.gpm != NO_GPM;
	return SUCCESS;
}

EXPORT int nvmlGpmSampleAlloc(void **to) { return (*to = calloc(1, sizeof(struct sample))) ? SUCCESS : MEMORY; }

EXPORT int nvmlGpmSampleFree(void *it)
{
	free(it);
	return SUCCESS;
}

static int take(int unit, struct sample *to)
{
	struct timeline *t = timeline_open();
	if (!t || unit < 0)
		return INVALID_ARGUMENT;
	if (settings.gpm != GPM)
		return settings.gpm == NO_GPM ? NOT_SUPPORTED : NO_PERMISSION;
	timeline_lock(t);
	const struct device *d = &t->devices[unit];
	*to = (struct sample){t->now, d->busy, d->active, d->copied};
	timeline_unlock(t);
	return SUCCESS;
}

/* A GPU that is cut up has no sample as a whole, and an instance none by its own handle. */
EXPORT int nvmlGpmSampleGet(void *handle, void *to) { return take(settings.mig ? -1 : unit_of(handle), to); }

EXPORT int nvmlGpmMigSampleGet(void *gpu, unsigned instance, void *to) { return take(instance_of(gpu, instance), to); }

/* The numbers of nvmlGpmMetricId_t that are told. */
enum {
	GRAPHICS_UTIL = 1, SM_UTIL = 2, SM_OCCUPANCY = 3, DRAM_BW_UTIL = 10, PCIE_TX_PER_SEC = 20, PCIE_RX_PER_SEC = 21
};

struct metric { unsigned id; int code; double value; char *names[3]; };
struct query { unsigned version, n; struct sample *one, *two; struct metric metrics[]; };
EXPORT int nvmlGpmMetricsGet(struct query *q)
{
	if (q->version != 1 || !q->one || !q->two || q->two->at <= q->one->at)
		return INVALID_ARGUMENT;
	double took = (double)(q->two->at - q->one->at);
	double busy = (q->two->busy - q->one->busy) / took, active = (q->two->active - q->one->active) / took;
	double received = (q->two->copied - q->one->copied) * TRAFFIC / (took / 1e9);
	for (unsigned i = 0; i < q->n; i++) {
		struct metric *m = &q->metrics[i];
		m->code = SUCCESS;
		switch (m->id) {
		case GRAPHICS_UTIL: m->value = 100 * busy; break;
		case SM_UTIL: m->value = 100 * active; break;
		case SM_OCCUPANCY: m->value = 50 * active; break;
		case DRAM_BW_UTIL: m->value = 50 * active; break;
		case PCIE_TX_PER_SEC: m->value = 0; break;
		case PCIE_RX_PER_SEC: m->value = received / (1 << 20); break; /* MiB/s */
		default: m->code = NOT_SUPPORTED;
		}
	}
	return SUCCESS;
}
