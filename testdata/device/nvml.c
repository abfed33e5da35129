/*
 * The libnvidia-ml.so.1 beside the stand-in libcuda.so.1: it tells of the same GPUs what NVIDIA's library would, from
 * their timeline. Layouts and numbers are those of nvml.h. It changes the timeline only by bringing it up to the
 * present, so a confined reader needs to be able to write its file.
 */
#define _GNU_SOURCE
#include "timeline.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum {
	SUCCESS = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NO_PERMISSION = 4, NOT_FOUND = 6,
	INSUFFICIENT_SIZE = 7, DRIVER_NOT_LOADED = 9,
	SAMPLES = 120, /* the driver's buffer */
};
static const unsigned NONE = 0xffffffff; /* no MIG instance */
static const uint64_t TOTAL = 80 * (1ull << 30), RESERVED = 600ull << 20; /* of a GPU */

static struct timeline *t;

/*
 * Handles are places in these lists; the number of a GPU or of an instance is its place. GPUs are listed by NVML in
 * the order of their PCI addresses, instances GPU by GPU.
 */
static char handles[MAX_DEVICES], instances[MAX_DEVICES];

static int place_of(const void *handle, const char *list, int n)
{
	const char *h = handle;
	return t && h >= list && h < list + n ? (int)(h - list) : -1;
}

/* Most functions take a GPU only: of an instance the driver refuses them. */
#define DEVICE(handle) int d = place_of(handle, handles, settings.devices); if (d < 0) return INVALID_ARGUMENT

/* unit_of is what a handle computes with: an instance, or a whole GPU; -1 for a GPU that is cut up. */
int unit_of(const void *handle)
{
	return settings.mig ? place_of(handle, instances, units()) : place_of(handle, handles, settings.devices);
}

#define INSTANCE(handle) int i = settings.mig ? unit_of(handle) : -1; if (i < 0) return INVALID_ARGUMENT

/*
 * What an H100 of 80 GB is cut into: its instances' slices of eight of the memory and of seven of the rest, their SMs
 * and the number of the first.
 */
struct profile { int count; unsigned slices, eighths, sms, first; };
static const struct profile *profile(void)
{
	static const struct profile all[] = {{1, 7, 8, 132, 0}, {2, 3, 4, 60, 1}, {3, 2, 2, 32, 3}, {7, 1, 1, 16, 7}};
	const struct profile *p = all;
	while (p->count < settings.mig && p->count < 7)
		p++;
	return p;
}

/* instance_of finds an instance by the number that the driver gives it on its GPU. */
int instance_of(const void *gpu, unsigned number)
{
	int d = place_of(gpu, handles, settings.devices), i = (int)(number - profile()->first);
	return d < 0 || i < 0 || i >= settings.mig ? -1 : d * settings.mig + i;
}

EXPORT int nvmlInit_v2(void)
{
	if ((t = timeline_open()))
		return SUCCESS;
	return errno == EACCES ? NO_PERMISSION : DRIVER_NOT_LOADED;
}
EXPORT int nvmlInit(void) { return nvmlInit_v2(); }
EXPORT int nvmlShutdown(void) { return SUCCESS; }

EXPORT int nvmlSystemGetDriverVersion(char *to, unsigned room)
{
	snprintf(to, room, "570.00.00");
	return SUCCESS;
}

EXPORT int nvmlDeviceGetCount_v2(unsigned *to)
{
	if (!t)
		return UNINITIALIZED;
	*to = (unsigned)settings.devices;
	return SUCCESS;
}
EXPORT int nvmlDeviceGetCount(unsigned *to) { return nvmlDeviceGetCount_v2(to); }

EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **to)
{
	if (!t || index >= (unsigned)settings.devices)
		return INVALID_ARGUMENT;
	*to = &handles[index];
	return SUCCESS;
}
EXPORT int nvmlDeviceGetHandleByIndex(unsigned index, void **to) { return nvmlDeviceGetHandleByIndex_v2(index, to); }

/* With MIG the GPUs' own names are beside those of their instances. */
static void uuid(int d, char *to, size_t room)
{
	unit_uuid(d, to, room);
	memcpy(to, "GPU", 3);
}
static void bus(int d, char *to, size_t room) { snprintf(to, room, "00000000:%02X:00.0", 0x10 + d); }

static int by_name(const char *name, void (*form)(int, char *, size_t), char *list, int n, void **to)
{
	for (int d = 0; t && d < n; d++) {
		char text[64];
		form(d, text, sizeof text);
		size_t longer = strlen(text), shorter = strlen(name);
		/* A bus address may come without its domain. */
		if (shorter && shorter <= longer && !strcasecmp(text + longer - shorter, name)) {
			*to = &list[d];
			return SUCCESS;
		}
	}
	return NOT_FOUND;
}
EXPORT int nvmlDeviceGetHandleByUUID(const char *name, void **to)
{
	if (settings.mig && !by_name(name, unit_uuid, instances, units(), to))
		return SUCCESS;
	return by_name(name, uuid, handles, settings.devices, to);
}
EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *name, void **to)
{
	return by_name(name, bus, handles, settings.devices, to);
}

EXPORT int nvmlDeviceGetUUID(void *handle, char *to, unsigned room)
{
	if (unit_of(handle) >= 0) {
		unit_uuid(unit_of(handle), to, room);
		return SUCCESS;
	}
	DEVICE(handle);
	uuid(d, to, room);
	return SUCCESS;
}

static uint64_t total(void) { return settings.mig ? TOTAL / 8 * profile()->eighths : TOTAL; }

EXPORT int nvmlDeviceGetName(void *handle, char *to, unsigned room)
{
	if (settings.mig && unit_of(handle) >= 0) {
		snprintf(to, room, "%s MIG %ug.%llugb", settings.name, profile()->slices, (unsigned long long)total() >> 30);
		return SUCCESS;
	}
	DEVICE(handle);
	snprintf(to, room, "%s", settings.name);
	return SUCCESS;
}

EXPORT int nvmlDeviceGetIndex(void *handle, unsigned *to)
{
	DEVICE(handle);
	*to = (unsigned)d;
	return SUCCESS;
}
EXPORT int nvmlDeviceGetMinorNumber(void *handle, unsigned *to) { return nvmlDeviceGetIndex(handle, to); }

struct place { char legacy[16]; unsigned domain, bus, device, id, subsystem; char text[32]; };
EXPORT int nvmlDeviceGetPciInfo_v3(void *handle, struct place *to)
{
	DEVICE(handle);
	memset(to, 0, sizeof *to);
	to->bus = 0x10 + (unsigned)d;
	bus(d, to->text, sizeof to->text);
	snprintf(to->legacy, sizeof to->legacy, "%.12s", to->text + 4);
	return SUCCESS;
}

EXPORT int nvmlDeviceGetMigMode(void *handle, unsigned *now, unsigned *later)
{
	DEVICE(handle);
	*now = *later = settings.mig != 0;
	return SUCCESS;
}

EXPORT int nvmlDeviceGetMaxMigDeviceCount(void *handle, unsigned *to)
{
	DEVICE(handle);
	(void)d;
	*to = settings.mig ? 7 : 0;
	return SUCCESS;
}

EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(void *handle, unsigned index, void **to)
{
	DEVICE(handle);
	if (!settings.mig || index >= (unsigned)settings.mig)
		return index < 7 ? NOT_FOUND : INVALID_ARGUMENT;
	*to = &instances[d * settings.mig + (int)index];
	return SUCCESS;
}

EXPORT int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(void *handle, void **to)
{
	INSTANCE(handle);
	*to = &handles[i / settings.mig];
	return SUCCESS;
}

EXPORT int nvmlDeviceIsMigDeviceHandle(void *handle, unsigned *to)
{
	*to = settings.mig && unit_of(handle) >= 0;
	return *to || place_of(handle, handles, settings.devices) >= 0 ? SUCCESS : INVALID_ARGUMENT;
}

static unsigned instance_number(int i) { return profile()->first + (unsigned)(i % settings.mig); }

EXPORT int nvmlDeviceGetGpuInstanceId(void *handle, unsigned *to)
{
	INSTANCE(handle);
	*to = instance_number(i);
	return SUCCESS;
}

EXPORT int nvmlDeviceGetComputeInstanceId(void *handle, unsigned *to)
{
	INSTANCE(handle);
	(void)i;
	*to = 0; /* each GPU instance has one */
	return SUCCESS;
}

struct attributes { unsigned sms, shared[5], gpu_slices, compute_slices; unsigned long long mebibytes; };
EXPORT int nvmlDeviceGetAttributes_v2(void *handle, struct attributes *to)
{
	INSTANCE(handle);
	(void)i;
	unsigned slices = profile()->slices;
	*to = (struct attributes){profile()->sms, {slices, slices, 0, slices, 0}, slices, slices, total() >> 20};
	return SUCCESS;
}

/* alive says whether a process that computed on a device is still there: its context ends with it. */
static int alive(const struct slot *k, int d)
{
	return k->used && k->device == d && (!kill(k->pid, 0) || errno == EPERM);
}

static uint64_t used(int d)
{
	uint64_t sum = 0;
	for (int s = 0; s < MAX_SLOTS; s++)
		if (alive(&t->slots[s], d))
			sum += t->slots[s].memory;
	return sum;
}

/* Of a GPU that is cut up only who has privileges is told the memory and the processes of all instances. */
#define UNIT(handle) \
	int d = unit_of(handle); \
	if (d < 0) return place_of(handle, handles, settings.devices) < 0 ? INVALID_ARGUMENT : NO_PERMISSION

static uint64_t reserved(void) { return RESERVED / (settings.mig ? (unsigned)settings.mig : 1); }

/* The first version counts what the driver keeps for itself as used; the second tells it apart. */
struct memory { unsigned long long total, free, used; };
EXPORT int nvmlDeviceGetMemoryInfo(void *handle, struct memory *to)
{
	UNIT(handle);
	to->total = total(), to->used = reserved() + used(d), to->free = to->total - to->used;
	return SUCCESS;
}

struct memory_v2 { unsigned version; unsigned long long total, reserved, free, used; };
EXPORT int nvmlDeviceGetMemoryInfo_v2(void *handle, struct memory_v2 *to)
{
	UNIT(handle);
	to->total = total(), to->reserved = reserved(), to->used = used(d);
	to->free = to->total - to->reserved - to->used;
	return SUCCESS;
}

/* Utilization: the share of each sample's time in which any kernel ran, in whole percent; those that are over. */
struct sample { unsigned long long at; union { unsigned u; unsigned long long ull; } value; };
EXPORT int nvmlDeviceGetSamples(void *handle, int kind, unsigned long long since, int *type, unsigned *n,
	struct sample *to)
{
	DEVICE(handle);
	if (kind != 1 || !settings.utilization || settings.mig)
		return NOT_SUPPORTED;
	*type = 1;
	if (!to) {
		*n = SAMPLES;
		return SUCCESS;
	}
	unsigned room = *n, found = 0;
	timeline_lock(t);
	uint64_t bins = settings.sample * 1000000ull / FINE_NS, took = bins * FINE_NS, over = (t->now - t->began) / took;
	uint64_t kept = (FINE_BINS - 1) / bins < SAMPLES ? (FINE_BINS - 1) / bins : SAMPLES;
	for (uint64_t i = over > kept ? over - kept : 0; i < over && found < room; i++) {
		unsigned long long at = (unsigned long long)((int64_t)(t->began + (i + 1) * took) + t->wall) / 1000;
		uint64_t busy = 0;
		for (uint64_t bin = i * bins; bin < (i + 1) * bins; bin++) {
			const struct fine *f = &t->devices[d].fine[bin % FINE_BINS];
			busy += f->index == bin ? f->busy : 0;
		}
		if (at > since)
			to[found++] = (struct sample){at, {.u = (unsigned)((busy * 100 + took / 2) / took)}};
	}
	timeline_unlock(t);
	*n = found;
	return found ? SUCCESS : NOT_FOUND;
}

/* recent is a mean over the last full 20 ms bins of a GPU, of all its instances; what is copied adds up. */
static void recent(int d, int bins, double *busy, double *active, double *copying)
{
	*busy = *active = *copying = 0;
	timeline_lock(t);
	uint64_t over = (t->now - t->began) / FINE_NS;
	int parts = units() / settings.devices;
	for (int i = 1; i <= bins && (uint64_t)i <= over; i++)
		for (int u = d * parts; u < (d + 1) * parts; u++) {
			const struct fine *f = &t->devices[u].fine[(over - (uint64_t)i) % FINE_BINS];
			if (f->index != over - (uint64_t)i)
				continue;
			*busy += (double)f->busy / parts, *active += f->active / parts, *copying += (double)f->copying;
		}
	timeline_unlock(t);
	*busy /= (double)(bins * FINE_NS), *active /= (double)(bins * FINE_NS), *copying /= (double)(bins * FINE_NS);
}

struct rates { unsigned gpu, memory; };
EXPORT int nvmlDeviceGetUtilizationRates(void *handle, struct rates *to)
{
	double busy, active, copying;
	DEVICE(handle);
	if (!settings.utilization || settings.mig)
		return NOT_SUPPORTED;
	recent(d, 8, &busy, &active, &copying);
	*to = (struct rates){(unsigned)(100 * busy + 0.5), (unsigned)(50 * active + 0.5)};
	return SUCCESS;
}

/* Power follows the SMs' activity: 70 W at rest, some for any kernel, 700 W with all SMs at work. */
EXPORT int nvmlDeviceGetPowerUsage(void *handle, unsigned *to)
{
	double busy, active, copying;
	DEVICE(handle);
	recent(d, 5, &busy, &active, &copying);
	*to = (unsigned)(1000 * (70 + 60 * busy + 570 * active));
	return SUCCESS;
}

static int number(void *handle, unsigned value, unsigned *to)
{
	DEVICE(handle);
	(void)d;
	*to = value;
	return SUCCESS;
}

#define NUMBER(function, value) \
	EXPORT int function(void *handle, unsigned *to) { return number(handle, (unsigned)(value), to); }
#define NUMBER_OF(function, value) \
	EXPORT int function(void *handle, int kind, unsigned *to) { (void)kind; return number(handle, value, to); }
NUMBER(nvmlDeviceGetEnforcedPowerLimit, 700000)
NUMBER_OF(nvmlDeviceGetClockInfo, 1980)
NUMBER_OF(nvmlDeviceGetMaxClockInfo, 1980)
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, settings.generation)
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, settings.generation)
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, settings.lanes)
NUMBER(nvmlDeviceGetMaxPcieLinkWidth, settings.lanes)

EXPORT int nvmlDeviceGetCurrentClocksEventReasons(void *handle, unsigned long long *to)
{
	double busy, active, copying;
	DEVICE(handle);
	recent(d, 5, &busy, &active, &copying);
	*to = busy > 0 ? 0 : 1; /* GpuIdle */
	return SUCCESS;
}
EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(void *handle, unsigned long long *to)
{
	return nvmlDeviceGetCurrentClocksEventReasons(handle, to);
}

/* To the GPU is "received". Throughput is of the last 20 ms, in KB/s. */
EXPORT int nvmlDeviceGetPcieThroughput(void *handle, int counter, unsigned *to)
{
	double busy, active, copying;
	DEVICE(handle);
	recent(d, 1, &busy, &active, &copying);
	*to = counter ? (unsigned)(copying * settings.link * TRAFFIC / 1000) : 0;
	return SUCCESS;
}

struct field {
	unsigned id, scope; long long at, latency; unsigned type; int code; union { unsigned long long ull; } value;
};
EXPORT int nvmlDeviceGetFieldValues(void *handle, int n, struct field *fields)
{
	DEVICE(handle);
	double copied = 0;
	timeline_lock(t);
	for (int parts = units() / settings.devices, u = d * parts; u < (d + 1) * parts; u++)
		copied += t->devices[u].copied;
	timeline_unlock(t);
	for (int i = 0; i < n; i++) {
		fields[i].code = fields[i].id == 197 || fields[i].id == 198 ? SUCCESS : NOT_SUPPORTED;
		fields[i].type = 1; /* 32 bits, which wrap */
		fields[i].value.ull = fields[i].id == 198 ? (unsigned)(unsigned long long)(copied * TRAFFIC) : 0;
	}
	return SUCCESS;
}

struct process { unsigned pid; unsigned long long used; unsigned gi, ci; };
EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(void *handle, unsigned *n, struct process *to)
{
	UNIT(handle);
	unsigned room = *n, found = 0, gi = settings.mig ? instance_number(d) : NONE, ci = settings.mig ? 0 : NONE;
	for (int s = 0; s < MAX_SLOTS; s++) {
		const struct slot *k = &t->slots[s];
		if (!alive(k, d))
			continue;
		if (found < room)
			to[found] = (struct process){(unsigned)k->pid, settings.process_memory ? k->memory : ~0ull, gi, ci};
		found++;
	}
	*n = found;
	return found > room ? INSUFFICIENT_SIZE : SUCCESS;
}

/*
 * Per process: the share of the last full second's hundred-millisecond bins in which its kernels ran; one sample
 * each.
 */
struct share { unsigned pid; unsigned long long at; unsigned sm, memory, encoder, decoder; };
EXPORT int nvmlDeviceGetProcessUtilization(void *handle, struct share *to, unsigned *n, unsigned long long since)
{
	DEVICE(handle);
	if (!settings.utilization || settings.mig)
		return NOT_SUPPORTED;
	unsigned room = *n, found = 0;
	timeline_lock(t);
	uint64_t over = (t->now - t->began) / BIN_NS, bins = over < 10 ? over : 10;
	unsigned long long at = (unsigned long long)((int64_t)(t->began + over * BIN_NS) + t->wall) / 1000;
	for (int s = 0; s < MAX_SLOTS && at > since && bins; s++) {
		const struct slot *k = &t->slots[s];
		uint64_t ran = 0;
		if (!alive(k, d))
			continue;
		for (uint64_t i = over - bins; i < over && i < BINS; i++)
			ran += k->bins[i][BUSY] + k->bins[i][COMM] + k->bins[i][SPIN];
		if (to && found < room)
			to[found] = (struct share){(unsigned)k->pid, at, (unsigned)(100 * ran / (bins * BIN_NS)), 0, 0, 0};
		found++;
	}
	timeline_unlock(t);
	*n = found;
	return !found ? NOT_FOUND : !to || found > room ? INSUFFICIENT_SIZE : SUCCESS;
}
