/* Maps, touches and unmaps 4 MiB again and again, and keeps the longest that took: what holds a process's memory map up shows here. */
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { SIZE = 4 << 20, PAGE = 4096 };

static _Atomic long worst;

static long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

/* fill touches each page of so many bytes, which stay mapped. */
int fill(long bytes)
{
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return -1;
	madvise(p, bytes, MADV_NOHUGEPAGE);
	for (long i = 0; i < bytes; i += PAGE)
		p[i] = 1;
	return 0;
}

/* probe never returns. */
void probe(void)
{
	struct timespec pause = {0, 1000000};
	for (;;) {
		long began = now();
		char *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p != MAP_FAILED) {
			for (long i = 0; i < SIZE; i += 16 * PAGE)
				p[i] = 1;
			munmap(p, SIZE);
		}
		long took = now() - began;
		if (took > atomic_load(&worst))
			atomic_store(&worst, took);
		nanosleep(&pause, NULL);
	}
}

/* taken returns the longest in nanoseconds since it was last asked for. */
long taken(void)
{
	return atomic_exchange(&worst, 0);
}
