/*
 * A libnvidia-ml.so.1 that is none: it answers the functions that pipetune calls, for GPUs that do not exist, and
 * misbehaves as its configuration says. Build:
 *
 *     gcc -shared -fPIC -O1 -Wall -Wextra -Werror -o DIR/libnvidia-ml.so.1 fakenvml.c
 *
 * with -DNO_<function> for each function that the "driver" shall not have. The configuration is the file fakenvml.conf
 * beside the library, one "key value" per line:
 *
 *     gpus N                 how many GPUs there are (2)
 *     name TEXT              their name, as C escapes (Fake GPU)
 *     hang FUNCTION N        the N-th call of FUNCTION, from 1, never returns; likewise:
 *     abort FUNCTION N       ... calls abort()
 *     segv FUNCTION N        ... writes to address 1
 *     fail FUNCTION CODE     every call returns CODE
 *     slow FUNCTION MS       every call takes MS milliseconds
 *     deny INDEX CODE        the GPU at INDEX cannot be opened: its handle is refused with CODE, and a CODE of -1 never returns
 *     drowsy INDEX MS        opening the GPU at INDEX takes MS milliseconds
 *     lost INDEX N           the GPU at INDEX falls off the bus after its N-th nvmlDeviceGetSamples with a buffer
 *     garbage WHAT           one of: count processes processes-insufficient samples utilization memory name uuid power one-sample
 *     unsupported            everything but init, count, handle, UUID and name is not supported
 *     counters               PCIe counters (fields 197 and 198) exist
 *     gpm                    GPU performance monitoring exists
 *     mig [N]                MIG is enabled, and each GPU cut into N slices (0)
 *     reserved MIB [within]  memory that the driver keeps for itself; "within": the second version counts it as used, too
 *     use PID PERCENT        a process uses so much of the SMs of each GPU, as sampled each second; may be repeated
 *     counter-bits 32        the PCIe counters have 32 bits instead of 64, and begin shortly before their end
 *     step BYTES             growth of the PCIe counters per call (1000000)
 *     memory TOTAL USED      MiB of each GPU, and how much of it is in use (81920, and 1024 for each GPU of the list)
 *     busy PERCENT           utilization, in every sample and reading (as said below)
 *     power DRAW LIMIT       milliwatts (123456, 700000)
 *     reasons BITS           clock event reasons (4, the power cap)
 *     link GEN MOST WIDTH MOST   the PCIe link as it is and at most (3 5 8 16)
 *     owner FILE             the one process on a GPU is the first "pid": N in FILE, read at each call, with all memory in use
 *     client PID             a process computes on each GPU through the Multi-Process Service, which lists it apart
 *
 * The GPU at index 0 has the second UUID and so on backwards: who trusts indices mixes them up. Layouts and numbers
 * are those of NVIDIA's nvml.h.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	SUCCESS = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7, GPU_IS_LOST = 15,
	MAX_GPUS = 16, MAX_RULES = 32, MAX_SLICES = 7, MAX_USES = 8
};

typedef struct gpu {
	unsigned index; int reads; int lost; unsigned long long clock, tx, rx, used_at;
	int slice; /* from 1; 0 = a whole GPU */
} gpu;
typedef struct { char what[16], function[64]; int number; int calls; } rule;

static gpu gpus[MAX_GPUS], parts[MAX_GPUS][MAX_SLICES];
static int slice_count, counter_bits = 64, within;
static unsigned long long reserved_mib;
static struct { unsigned pid, percent; } uses[MAX_USES];
static int use_count;
static struct { int index, code, ms; } openings[MAX_RULES];
static int opening_count;
static int gpu_count = 2, unsupported, counters, gpm, mig, loaded;
static int lost_index = -1, lost_after;
static unsigned long long step = 1000000;
static char name[256] = "Fake GPU", garbage[256];
static rule rules[MAX_RULES];
static int rule_count;
static unsigned long long memory_mib, used_mib;
static int busy = -1, link_gen = 3, link_most = 5, link_width = 8, link_widest = 16;
static unsigned power_draw = 123456, power_limit = 700000;
static unsigned long long reasons = 4;
static char owner[448];
static unsigned client;

static void unescape(char *to, const char *from, size_t room)
{
	char *end = to + room - 1;
	while (*from && to < end) {
		if (from[0] == '\\' && from[1] == 'x') {
			*to++ = (char)strtol((char[]){from[2], from[3], 0}, NULL, 16);
			from += 4;
		} else {
			*to++ = *from++;
		}
	}
	*to = 0;
}

static void load(void)
{
	Dl_info here;
	char path[PATH_MAX], line[512], key[64];
	if (loaded++)
		return;
	for (unsigned i = 0; i < MAX_GPUS; i++)
		gpus[i].index = i, gpus[i].clock = 1000000;
	for (unsigned i = 0; i < MAX_GPUS * MAX_SLICES; i++)
		parts[i / MAX_SLICES][i % MAX_SLICES] = (gpu){.index = i / MAX_SLICES, .slice = 1 + (int)i % MAX_SLICES};
	if (!dladdr((void *)load, &here))
		return;
	snprintf(path, sizeof path, "%s", here.dli_fname);
	char *slash = strrchr(path, '/');
	snprintf(slash ? slash + 1 : path, 32, "fakenvml.conf");
	FILE *file = fopen(path, "r");
	if (!file)
		return;
	while (fgets(line, sizeof line, file)) {
		char rest[448] = "";
		line[strcspn(line, "\n")] = 0;
		if (sscanf(line, "%63s %447[^\n]", key, rest) < 1)
			continue;
		if (!strcmp(key, "gpus")) gpu_count = atoi(rest);
		else if (!strcmp(key, "name")) unescape(name, rest, sizeof name);
		else if (!strcmp(key, "lost")) sscanf(rest, "%d %d", &lost_index, &lost_after);
		else if (!strcmp(key, "garbage")) snprintf(garbage, sizeof garbage, "%.250s", rest);
		else if (!strcmp(key, "unsupported")) unsupported = 1;
		else if (!strcmp(key, "counters")) counters = 1;
		else if (!strcmp(key, "gpm")) gpm = 1;
		else if (!strcmp(key, "mig")) mig = 1, slice_count = atoi(rest);
		else if (!strcmp(key, "reserved")) { reserved_mib = strtoull(rest, NULL, 10); within = strstr(rest, "within") != NULL; }
		else if (!strcmp(key, "counter-bits")) counter_bits = atoi(rest);
		else if (!strcmp(key, "use") && use_count < MAX_USES) {
			sscanf(rest, "%u %u", &uses[use_count].pid, &uses[use_count].percent);
			use_count++;
		} else if ((!strcmp(key, "deny") || !strcmp(key, "drowsy")) && opening_count < MAX_RULES) {
			int value = 0, i = opening_count++;
			sscanf(rest, "%d %d", &openings[i].index, &value);
			*(key[1] == 'e' ? &openings[i].code : &openings[i].ms) = value;
		}
		else if (!strcmp(key, "step")) step = strtoull(rest, NULL, 10);
		else if (!strcmp(key, "memory")) sscanf(rest, "%llu %llu", &memory_mib, &used_mib);
		else if (!strcmp(key, "busy")) busy = atoi(rest);
		else if (!strcmp(key, "power")) sscanf(rest, "%u %u", &power_draw, &power_limit);
		else if (!strcmp(key, "reasons")) reasons = strtoull(rest, NULL, 0);
		else if (!strcmp(key, "link")) sscanf(rest, "%d %d %d %d", &link_gen, &link_most, &link_width, &link_widest);
		else if (!strcmp(key, "client")) client = (unsigned)strtoul(rest, NULL, 10);
		else if (!strcmp(key, "owner")) snprintf(owner, sizeof owner, "%.440s", rest);
		else if (rule_count < MAX_RULES) {
			rule *r = &rules[rule_count++];
			snprintf(r->what, sizeof r->what, "%.15s", key);
			sscanf(rest, "%63s %d", r->function, &r->number);
		}
	}
	fclose(file);
}

/* enter applies the rules for a call; what it returns is the call's result unless it is SUCCESS. */
static int enter(const char *function, gpu *g, int always)
{
	load();
	for (int i = 0; i < rule_count; i++) {
		rule *r = &rules[i];
		if (strcmp(r->function, function))
			continue;
		if (!strcmp(r->what, "fail"))
			return r->number;
		if (!strcmp(r->what, "slow")) {
			usleep((useconds_t)r->number * 1000);
			continue;
		}
		if (++r->calls != r->number)
			continue;
		if (!strcmp(r->what, "hang"))
			for (;;) pause();
		if (!strcmp(r->what, "abort"))
			abort();
		if (!strcmp(r->what, "segv"))
			*(volatile int *)1 = 0;
	}
	if (g && g->lost)
		return GPU_IS_LOST;
	return unsupported && !always ? NOT_SUPPORTED : SUCCESS;
}

#define ENTER(function, g) do { int code = enter(function, g, 0); if (code) return code; } while (0)
#define ENTER_ALWAYS(function, g) do { int code = enter(function, g, 1); if (code) return code; } while (0)
#define IS_GARBAGE(what) (!strcmp(garbage, what))
#define EXPORT __attribute__((visibility("default")))

#ifndef NO_nvmlInit_v2
EXPORT int nvmlInit_v2(void) { ENTER_ALWAYS("nvmlInit_v2", NULL); return SUCCESS; }
#endif
#ifndef NO_nvmlInit
EXPORT int nvmlInit(void) { ENTER_ALWAYS("nvmlInit_v2", NULL); return SUCCESS; }
#endif
#ifndef NO_nvmlShutdown
EXPORT int nvmlShutdown(void) { ENTER_ALWAYS("nvmlShutdown", NULL); return SUCCESS; }
#endif
#ifndef NO_nvmlSystemGetDriverVersion
EXPORT int nvmlSystemGetDriverVersion(char *to, unsigned room)
{
	ENTER("nvmlSystemGetDriverVersion", NULL);
	snprintf(to, room, "999.99\x1b[1m");
	return SUCCESS;
}
#endif

static int count(unsigned *to)
{
	ENTER_ALWAYS("nvmlDeviceGetCount_v2", NULL);
	*to = IS_GARBAGE("count") ? 4000000000u : (unsigned)gpu_count;
	return SUCCESS;
}
#ifndef NO_nvmlDeviceGetCount_v2
EXPORT int nvmlDeviceGetCount_v2(unsigned *to) { return count(to); }
#endif
#ifndef NO_nvmlDeviceGetCount
EXPORT int nvmlDeviceGetCount(unsigned *to) { return count(to); }
#endif

static int handle(unsigned index, gpu **to)
{
	ENTER_ALWAYS("nvmlDeviceGetHandleByIndex_v2", NULL);
	if (index >= (unsigned)gpu_count)
		return INVALID_ARGUMENT;
	for (int i = 0; i < opening_count; i++) {
		if (openings[i].index != (int)index)
			continue;
		usleep((useconds_t)openings[i].ms * 1000);
		if (openings[i].code < 0)
			for (;;) pause();
		if (openings[i].code)
			return openings[i].code;
	}
	*to = &gpus[index];
	return SUCCESS;
}
#ifndef NO_nvmlDeviceGetHandleByIndex_v2
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, gpu **to) { return handle(index, to); }
#endif
#ifndef NO_nvmlDeviceGetHandleByIndex
EXPORT int nvmlDeviceGetHandleByIndex(unsigned index, gpu **to) { return handle(index, to); }
#endif

#ifndef NO_nvmlDeviceGetHandleByPciBusId_v2
EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *at, gpu **to)
{
	unsigned domain, bus, device;
	ENTER_ALWAYS("nvmlDeviceGetHandleByPciBusId_v2", NULL);
	if (sscanf(at, "%x:%x:%x", &domain, &bus, &device) != 3 || domain || device || bus % 0x10 || !bus)
		return NOT_FOUND;
	return bus / 0x10 > (unsigned)gpu_count ? NOT_FOUND : handle(bus / 0x10 - 1, to);
}
#endif
#ifndef NO_nvmlDeviceGetMinorNumber
EXPORT int nvmlDeviceGetMinorNumber(gpu *g, unsigned *to) { ENTER("nvmlDeviceGetMinorNumber", g); *to = g->index; return SUCCESS; }
#endif
#ifndef NO_nvmlDeviceGetMigDeviceHandleByIndex
EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(gpu *g, unsigned i, gpu **to)
{
	ENTER("nvmlDeviceGetMigDeviceHandleByIndex", g);
	if (g->slice || i >= (unsigned)slice_count || i >= MAX_SLICES)
		return NOT_FOUND;
	*to = &parts[g->index][i];
	return SUCCESS;
}
#endif
#ifndef NO_nvmlDeviceGetGpuInstanceId
EXPORT int nvmlDeviceGetGpuInstanceId(gpu *g, unsigned *to)
{
	ENTER("nvmlDeviceGetGpuInstanceId", g);
	if (!g->slice)
		return NOT_SUPPORTED;
	*to = 6 + (unsigned)g->slice;
	return SUCCESS;
}
#endif

#ifndef NO_nvmlDeviceGetUUID
EXPORT int nvmlDeviceGetUUID(gpu *g, char *to, unsigned room)
{
	ENTER_ALWAYS("nvmlDeviceGetUUID", g);
	if (IS_GARBAGE("uuid"))
		memset(to, 0x1b, room); /* no NUL either */
	else if (g->slice)
		snprintf(to, room, "MIG-%08x-0000-0000-0000-00000000000%d", (unsigned)gpu_count - g->index, g->slice);
	else
		snprintf(to, room, "GPU-%08x-0000-0000-0000-000000000000", (unsigned)gpu_count - g->index);
	return SUCCESS;
}
#endif
#ifndef NO_nvmlDeviceGetName
EXPORT int nvmlDeviceGetName(gpu *g, char *to, unsigned room)
{
	ENTER_ALWAYS("nvmlDeviceGetName", g);
	if (IS_GARBAGE("name"))
		memset(to, 0x9b, room); /* no NUL either */
	else
		snprintf(to, room, "%s", name);
	return SUCCESS;
}
#endif

typedef struct { unsigned long long total, free, used; } memory;
typedef struct { unsigned version; unsigned long long total, reserved, free, used; } memory_v2;

static memory held(gpu *g)
{
	memory m = {IS_GARBAGE("memory") ? 0 : 80ull << 30, 0, (1ull + g->index) << 30};
	if (memory_mib)
		m.total = memory_mib << 20, m.used = used_mib << 20;
	if (g->slice)
		m.total /= 8, m.used = (unsigned long long)g->slice << 30;
	m.free = m.total - m.used - (reserved_mib << 20);
	return m;
}
#ifndef NO_nvmlDeviceGetMemoryInfo
EXPORT int nvmlDeviceGetMemoryInfo(gpu *g, memory *to)
{
	ENTER("nvmlDeviceGetMemoryInfo", g);
	*to = held(g);
	to->used += reserved_mib << 20;
	return SUCCESS;
}
#endif
#ifndef NO_nvmlDeviceGetMemoryInfo_v2
EXPORT int nvmlDeviceGetMemoryInfo_v2(gpu *g, memory_v2 *to)
{
	ENTER("nvmlDeviceGetMemoryInfo_v2", g);
	if (to->version != (sizeof *to | 2u << 24))
		return INVALID_ARGUMENT;
	memory m = held(g);
	to->total = m.total, to->free = m.free, to->reserved = reserved_mib << 20;
	to->used = m.used + (within ? to->reserved : 0);
	return SUCCESS;
}
#endif

/* Five samples a call, 20 ms apart: GPU 0 shows 10..50, the others 60..100. */
typedef struct { unsigned long long at; union { unsigned u; double d; unsigned long long ull; } value; } sample;
#ifndef NO_nvmlDeviceGetSamples
EXPORT int nvmlDeviceGetSamples(gpu *g, int kind, unsigned long long since, int *type, unsigned *n, sample *to)
{
	ENTER("nvmlDeviceGetSamples", g);
	if (kind != 1)
		return NOT_SUPPORTED;
	*type = 1;
	if (!to) {
		*n = IS_GARBAGE("samples") ? 4000000000u : 120;
		return SUCCESS;
	}
	if (lost_index == (int)g->index && ++g->reads > lost_after) {
		g->lost = 1;
		return GPU_IS_LOST;
	}
	if (*n < 6)
		return INVALID_ARGUMENT;
	to[0].at = 0; /* an empty place of a young buffer */
	to[0].value.u = 100;
	for (unsigned i = 1; i <= 5; i++) {
		g->clock += 20000;
		to[i].at = g->clock;
		to[i].value.u = IS_GARBAGE("utilization") || (IS_GARBAGE("one-sample") && i == 2) ? UINT_MAX : busy >= 0 ? (unsigned)busy : g->index ? 50 + 10 * i : 10 * i;
	}
	(void)since;
	*n = 6;
	return SUCCESS;
}
#endif

typedef struct { unsigned gpu, memory; } rates;
#ifndef NO_nvmlDeviceGetUtilizationRates
EXPORT int nvmlDeviceGetUtilizationRates(gpu *g, rates *to)
{
	ENTER("nvmlDeviceGetUtilizationRates", g);
	to->gpu = IS_GARBAGE("utilization") ? UINT_MAX : busy >= 0 ? (unsigned)busy : 77;
	to->memory = 1;
	return SUCCESS;
}
#endif

#define NUMBER(function, value) \
	EXPORT int function(gpu *g, unsigned *to) { ENTER(#function, g); *to = (value); return SUCCESS; }
#define NUMBER_OF(function, value) \
	EXPORT int function(gpu *g, int kind, unsigned *to) { ENTER(#function, g); (void)kind; *to = (value); return SUCCESS; }

#ifndef NO_nvmlDeviceGetPowerUsage
NUMBER(nvmlDeviceGetPowerUsage, IS_GARBAGE("power") ? UINT_MAX : power_draw)
#endif
#ifndef NO_nvmlDeviceGetEnforcedPowerLimit
NUMBER(nvmlDeviceGetEnforcedPowerLimit, power_limit)
#endif
#ifndef NO_nvmlDeviceGetClockInfo
NUMBER_OF(nvmlDeviceGetClockInfo, 1410)
#endif
#ifndef NO_nvmlDeviceGetMaxClockInfo
NUMBER_OF(nvmlDeviceGetMaxClockInfo, 1980)
#endif
#ifndef NO_nvmlDeviceGetCurrPcieLinkGeneration
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, (unsigned)link_gen)
#endif
#ifndef NO_nvmlDeviceGetMaxPcieLinkGeneration
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, (unsigned)link_most)
#endif
#ifndef NO_nvmlDeviceGetCurrPcieLinkWidth
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, (unsigned)link_width)
#endif
#ifndef NO_nvmlDeviceGetMaxPcieLinkWidth
NUMBER(nvmlDeviceGetMaxPcieLinkWidth, (unsigned)link_widest)
#endif
#ifndef NO_nvmlDeviceGetPcieThroughput
NUMBER_OF(nvmlDeviceGetPcieThroughput, kind ? 2000 : 1000)
#endif

#define BITS(function) \
	EXPORT int function(gpu *g, unsigned long long *to) { ENTER(#function, g); *to = reasons; return SUCCESS; }
#ifndef NO_nvmlDeviceGetCurrentClocksEventReasons
BITS(nvmlDeviceGetCurrentClocksEventReasons)
#endif
#ifndef NO_nvmlDeviceGetCurrentClocksThrottleReasons
BITS(nvmlDeviceGetCurrentClocksThrottleReasons)
#endif

typedef struct {
	unsigned id, scope; long long at, latency; unsigned type; int code; union { unsigned long long ull; } value;
} field;
#ifndef NO_nvmlDeviceGetFieldValues
EXPORT int nvmlDeviceGetFieldValues(gpu *g, int n, field *fields)
{
	ENTER("nvmlDeviceGetFieldValues", g);
	if (counter_bits == 32 && !g->tx)
		g->tx = g->rx = UINT_MAX - step / 2;
	for (int i = 0; i < n; i++) {
		fields[i].code = counters ? SUCCESS : NOT_SUPPORTED;
		fields[i].type = counter_bits == 32 ? 1 : 3;
		if (fields[i].id == 197)
			fields[i].value.ull = g->tx += step;
		else
			fields[i].value.ull = g->rx += 2 * step;
		if (counter_bits == 32)
			fields[i].value.ull &= UINT_MAX;
	}
	return SUCCESS;
}
#endif

typedef struct { char legacy[16]; unsigned domain, bus, device, id, subsystem; char text[32]; } place;
#ifndef NO_nvmlDeviceGetPciInfo_v3
EXPORT int nvmlDeviceGetPciInfo_v3(gpu *g, place *to)
{
	ENTER("nvmlDeviceGetPciInfo_v3", g);
	memset(to, 0, sizeof *to);
	to->bus = 0x10 * (1 + g->index);
	return SUCCESS;
}
#endif

#ifndef NO_nvmlDeviceGetMigMode
EXPORT int nvmlDeviceGetMigMode(gpu *g, unsigned *now, unsigned *later)
{
	ENTER("nvmlDeviceGetMigMode", g);
	*now = *later = (unsigned)mig;
	return SUCCESS;
}
#endif

typedef struct { unsigned pid; unsigned long long used; unsigned gi, ci; } process;
typedef struct { unsigned pid; unsigned long long used; } process_v1;

/* owned tells the process number that the owner's file names; 0 while there is none. */
static unsigned owned(void)
{
	char line[512];
	unsigned pid = 0;
	FILE *file = fopen(owner, "r");
	if (!file)
		return 0;
	while (!pid && fgets(line, sizeof line, file)) {
		const char *at = strstr(line, "\"pid\": ");
		if (at)
			pid = (unsigned)strtoul(at + 7, NULL, 10);
	}
	fclose(file);
	return pid;
}

static int processes_of(gpu *g, unsigned *n, void *to, int former)
{
	ENTER("nvmlDeviceGetComputeRunningProcesses_v3", g);
	if (*owner) {
		unsigned pid = owned(), room = *n;
		*n = pid != 0;
		if (room < *n)
			return INSUFFICIENT_SIZE;
		if (pid && former)
			*(process_v1 *)to = (process_v1){pid, used_mib << 20};
		else if (pid)
			*(process *)to = (process){pid, used_mib << 20, UINT_MAX, UINT_MAX};
		return SUCCESS;
	}
	if (IS_GARBAGE("processes")) {
		*n = 4000000000u;
		return SUCCESS;
	}
	if (IS_GARBAGE("processes-insufficient")) {
		*n = 4000000000u;
		return INSUFFICIENT_SIZE;
	}
	if (*n < 2) {
		*n = 2;
		return INSUFFICIENT_SIZE;
	}
	for (unsigned i = 0; i < 2; i++) {
		unsigned pid = 1000 * (g->index + 1) + i;
		unsigned long long used = i ? ~0ull : 5ull << 30; /* all ones: not available */
		if (former)
			((process_v1 *)to)[i] = (process_v1){pid, used};
		else
			((process *)to)[i] = (process){pid, used, UINT_MAX, UINT_MAX};
	}
	*n = 2;
	return SUCCESS;
}
#ifndef NO_nvmlDeviceGetComputeRunningProcesses_v3
EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(gpu *g, unsigned *n, process *to) { return processes_of(g, n, to, 0); }
#endif
#ifndef NO_nvmlDeviceGetComputeRunningProcesses_v2
EXPORT int nvmlDeviceGetComputeRunningProcesses_v2(gpu *g, unsigned *n, process *to) { return processes_of(g, n, to, 0); }
#endif
#ifndef NO_nvmlDeviceGetComputeRunningProcesses
EXPORT int nvmlDeviceGetComputeRunningProcesses(gpu *g, unsigned *n, process_v1 *to) { return processes_of(g, n, to, 1); }
#endif
#ifndef NO_nvmlDeviceGetMPSComputeRunningProcesses_v3
EXPORT int nvmlDeviceGetMPSComputeRunningProcesses_v3(gpu *g, unsigned *n, process *to)
{
	ENTER("nvmlDeviceGetMPSComputeRunningProcesses_v3", g);
	unsigned room = *n;
	*n = client != 0;
	if (room < *n)
		return INSUFFICIENT_SIZE;
	if (client)
		*to = (process){client, 3ull << 30, UINT_MAX, UINT_MAX};
	return SUCCESS;
}
#endif

typedef struct { unsigned pid; unsigned long long at; unsigned sm, memory, encoder, decoder; } use;
#ifndef NO_nvmlDeviceGetProcessUtilization
EXPORT int nvmlDeviceGetProcessUtilization(gpu *g, use *to, unsigned *n, unsigned long long since)
{
	ENTER("nvmlDeviceGetProcessUtilization", g);
	if (!use_count)
		return NOT_FOUND;
	if (!to || *n < (unsigned)use_count) {
		*n = (unsigned)use_count;
		return to ? INSUFFICIENT_SIZE : SUCCESS;
	}
	g->used_at = (since > g->used_at ? since : g->used_at) + 1000000;
	for (int i = 0; i < use_count; i++)
		to[i] = (use){uses[i].pid, g->used_at, uses[i].percent, 1, 0, 0};
	*n = IS_GARBAGE("uses") ? 4000000000u : (unsigned)use_count;
	return SUCCESS;
}
#endif

/* GPU performance monitoring: any work 40 % of the time, SM activity 25 %, DRAM 12.5 %, PCIe 100 and 200 MiB/s. Of the slices any work
 * is 10 % for each number, and there is no PCIe. */
typedef struct { unsigned version, supported; } gpm_support;
typedef struct { unsigned id; int code; double value; char *names[3]; } gpm_metric;
typedef struct { unsigned version, n; void *one, *two; gpm_metric metrics[]; } gpm_query;
#ifndef NO_nvmlGpmQueryDeviceSupport
EXPORT int nvmlGpmQueryDeviceSupport(gpu *g, gpm_support *to)
{
	ENTER("nvmlGpmQueryDeviceSupport", g);
	to->supported = (unsigned)gpm;
	return SUCCESS;
}
#endif
#ifndef NO_nvmlGpmSampleAlloc
EXPORT int nvmlGpmSampleAlloc(void **to) { ENTER("nvmlGpmSampleAlloc", NULL); *to = calloc(1, 16); return SUCCESS; }
#endif
#ifndef NO_nvmlGpmSampleFree
EXPORT int nvmlGpmSampleFree(void *it) { free(it); return SUCCESS; }
#endif
#ifndef NO_nvmlGpmSampleGet
EXPORT int nvmlGpmSampleGet(gpu *g, void *to)
{
	ENTER("nvmlGpmSampleGet", g);
	if (mig)
		return NOT_SUPPORTED;
	*(int *)to = 1;
	return SUCCESS;
}
#endif
#ifndef NO_nvmlGpmMigSampleGet
EXPORT int nvmlGpmMigSampleGet(gpu *g, unsigned instance, void *to)
{
	ENTER("nvmlGpmMigSampleGet", g);
	if (g->slice || instance < 7)
		return INVALID_ARGUMENT;
	*(int *)to = (int)instance;
	return SUCCESS;
}
#endif
#ifndef NO_nvmlGpmMetricsGet
EXPORT int nvmlGpmMetricsGet(gpm_query *q)
{
	ENTER("nvmlGpmMetricsGet", NULL);
	if (q->version != 1 || !*(int *)q->one || !*(int *)q->two)
		return INVALID_ARGUMENT;
	for (unsigned i = 0; i < q->n; i++) {
		gpm_metric *m = &q->metrics[i];
		int slice = *(int *)q->one - 6;
		m->code = slice > 0 && m->id >= 20 ? NOT_SUPPORTED : SUCCESS;
		switch (m->id) {
		case 1: m->value = slice > 0 ? 10 * slice : 40; break;
		case 2: m->value = 25; break;
		case 10: m->value = 12.5; break;
		case 20: m->value = 100; break;
		case 21: m->value = 200; break;
		default: m->value = 0;
		}
		if (IS_GARBAGE("gpm"))
			m->value = 1e300;
	}
	return SUCCESS;
}
#endif
