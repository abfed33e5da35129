#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Runs before Go's runtime, while the program holds next to nothing. glibc hands a constructor what main gets. What cannot be done here changes
   nothing: isolate.RaiseOOMScore tries again. */
__attribute__((constructor)) static void raise_oom_score(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--") == 0)
			return;
	int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (file < 0)
		return;
	ssize_t written = write(file, "1000", 4);
	(void)written;
	(void)close(file);
}
