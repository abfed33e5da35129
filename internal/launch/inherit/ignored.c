#include "ignored.h"

#include <signal.h>
#include <stddef.h>

unsigned long long pipetune_ignored_at_start;

/* Runs before Go's runtime, which puts handlers of its own in place of nearly all of them. */
__attribute__((constructor)) static void look(void) {
	for (int number = 1; number < 32; number++) {
		struct sigaction action;
		if (sigaction(number, NULL, &action) == 0 && !(action.sa_flags & SA_SIGINFO) && action.sa_handler == SIG_IGN)
			pipetune_ignored_at_start |= 1ULL << number;
	}
}
