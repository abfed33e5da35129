#include "sender.h"

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int from_kernel[NSIG];
static struct sigaction runtime_handler[NSIG];

/* A process sends with si_code SI_USER or below (sigaction(2)); the kernel, for a terminal, with SI_KERNEL. */
static void note(int number, siginfo_t *info, void *context) {
	if (info->si_code > 0)
		atomic_store(&from_kernel[number], 1);
	runtime_handler[number].sa_sigaction(number, info, context);
}

/* Puts note in front of the handler of Go's runtime, with its flags: the alternate stack among them, which os/signal asks for. What it cannot watch
   stays as it is, and is not known. */
void pipetune_watch_sender(int number) {
	struct sigaction now;
	if (sigaction(number, NULL, &now) != 0 || !(now.sa_flags & SA_SIGINFO) || now.sa_sigaction == note)
		return;
	runtime_handler[number] = now;
	now.sa_sigaction = note;
	sigaction(number, &now, NULL);
}

int pipetune_from_kernel(int number) {
	return runtime_handler[number].sa_sigaction == NULL || atomic_exchange(&from_kernel[number], 0);
}
