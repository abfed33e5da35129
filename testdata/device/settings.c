/* device.conf beside the library, and the timeline that it names. */
#define _GNU_SOURCE
#include "timeline.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct timeline *timeline_map(const char *path);

struct settings settings = {
	.devices = 1, .utilization = 1, .process_memory = 1, .lanes = 16, .generation = 5,
	.queue = 1024, .slice = 2000000, .sample = 200, .link = 50e9, .staging = 8e9, .name = "Stand-in GPU",
};

static void set(const char *key, const char *value)
{
	struct { const char *key; int *to; } whole[] = {
		{"devices", &settings.devices}, {"gpm", &settings.gpm}, {"mig", &settings.mig}, {"queue", &settings.queue},
		{"utilization", &settings.utilization}, {"process-memory", &settings.process_memory},
		{"lanes", &settings.lanes}, {"sample-ms", &settings.sample}, {"generation", &settings.generation},
	};
	for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
		if (!strcmp(key, whole[i].key))
			*whole[i].to = atoi(value);
	if (!strcmp(key, "slice-us"))
		settings.slice = strtoull(value, NULL, 10) * 1000;
	else if (!strcmp(key, "link-gb"))
		settings.link = strtod(value, NULL) * 1e9;
	else if (!strcmp(key, "staging-gb"))
		settings.staging = strtod(value, NULL) * 1e9;
	else if (!strcmp(key, "name"))
		snprintf(settings.name, sizeof settings.name, "%.63s", value);
	else if (!strcmp(key, "timeline"))
		snprintf(settings.timeline, sizeof settings.timeline, "%.255s", value);
}

static void read_settings(void)
{
	Dl_info here;
	char path[PATH_MAX], line[400], key[64], value[256];
	if (!dladdr((void *)read_settings, &here))
		return;
	snprintf(path, sizeof path, "%s", here.dli_fname);
	char *slash = strrchr(path, '/');
	if (!slash || (size_t)(slash - path) + 16 > sizeof path)
		return;
	strcpy(slash + 1, "device.conf");
	FILE *file = fopen(path, "r");
	if (!file)
		return;
	while (fgets(line, sizeof line, file))
		if (sscanf(line, "%63s %255[^\n]", key, value) == 2)
			set(key, value);
	fclose(file);
	if (units() > MAX_DEVICES)
		settings.devices = 1;
	if (settings.sample < 20)
		settings.sample = 20;
	if (settings.queue > RING / 2)
		settings.queue = RING / 2;
}

int units(void) { return settings.devices * (settings.mig ? settings.mig : 1); }

void unit_uuid(int unit, char *to, size_t room)
{
	snprintf(to, room, "%s-5d000000-0000-4000-8000-%012x", settings.mig ? "MIG" : "GPU", unit + 1);
}

struct timeline *timeline_open(void)
{
	static struct timeline *open;
	if (!open) {
		read_settings();
		open = timeline_map(settings.timeline);
	}
	return open;
}
