// Starts a child without holding up anything of the parent, not even the thread that calls: see docs/adr/0009.
//
// clone(CLONE_VM) makes a child that shares the parent's memory, on a stack of its own, until it calls execve. Without
// CLONE_VFORK the parent goes on meanwhile. So the child may touch its stack and struct spawn and nothing else: no
// errno, which is the parent thread's, and no function of libc but the one that started it. Hence the bare system calls.

#define _GNU_SOURCE
#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

// The same number on all machines; older headers lack it.
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

static long call6(long number, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;
	__asm__ volatile("syscall"
		: "=a"(result)
		: "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
		: "rcx", "r11", "memory");
	return result;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;
	__asm__ volatile("svc 0"
		: "+r"(x0)
		: "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
		: "memory", "cc");
	return x0;
#else
#error "pipetune runs on x86_64 and arm64"
#endif
}

#define CALL3(number, a, b, c) call6((number), (long)(a), (long)(b), (long)(c), 0, 0, 0)

static void tell(int status, int word)
{
	CALL3(SYS_write, status, &word, sizeof word);
}

static void give_up(int status, long result)
{
	tell(status, (int)-result);
	for (;;)
		CALL3(SYS_exit_group, 127, 0, 0);
}

// The kernel's own struct, which libc's differs from.
struct kernel_sigaction {
	void *handler;
	unsigned long flags;
	void *restorer;
	uint64_t mask;
};

// The number of signals, and the size of a set of them in bytes (asm-generic/signal.h).
enum { SIGNALS = 64, SIGNAL_SET = 8 };

// default_signals undoes what the parent's Go runtime set: handlers that are not there in the new program. The mask,
// which the parent closed for the time of the clone, is opened last.
static long default_signals(void)
{
	struct kernel_sigaction none = {0};
	for (int signal = 1; signal <= SIGNALS; signal++)
		if (signal != SIGKILL && signal != SIGSTOP)
			(void)call6(SYS_rt_sigaction, signal, (long)&none, 0, SIGNAL_SET, 0, 0); // the two real-time ones of libc may refuse
	uint64_t open = 0;
	return call6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&open, 0, SIGNAL_SET, 0, 0);
}

struct entry { // struct linux_dirent64
	uint64_t inode;
	int64_t offset;
	unsigned short length;
	unsigned char type;
	char name[];
};

// close_from closes each descriptor from first on. A child that cannot come to run its program would keep them open
// else: pipes that never end, locks, the server of the very mount it hangs on. Linux has one call for it since 5.9;
// before, /proc tells which are open.
static long close_from(int first)
{
	long result = CALL3(SYS_close_range, first, ~0U, 0);
	if (result != -ENOSYS)
		return result;
	long folder = call6(SYS_openat, AT_FDCWD, (long)"/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0, 0, 0);
	if (folder < 0)
		return folder;
	char names[4096] __attribute__((aligned(8)));
	for (;;) {
		long got = CALL3(SYS_getdents64, folder, names, sizeof names);
		if (got <= 0)
			return got;
		for (long at = 0; at < got;) {
			const struct entry *e = (const struct entry *)(names + at);
			at += e->length;
			int fd = 0;
			const char *digit = e->name;
			for (; *digit >= '0' && *digit <= '9'; digit++)
				fd = fd * 10 + (*digit - '0');
			if (digit != e->name && fd >= first && fd != folder)
				(void)CALL3(SYS_close, fd, 0, 0);
		}
	}
}

// place puts the files where the program looks for them, and the status pipe, which execve closes, behind. All are
// first moved out of each other's way.
static long place(const struct spawn *s, int *status)
{
	int from[SPAWN_FILES + 1];
	for (int i = 0; i <= SPAWN_FILES; i++) {
		long fd = i < SPAWN_FILES ? s->files[i] : s->status;
		if (fd < 0)
			fd = call6(SYS_openat, AT_FDCWD, (long)"/dev/null", O_RDWR | O_CLOEXEC, 0, 0, 0);
		if (fd < 0)
			return fd;
		fd = CALL3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, SPAWN_FILES + 1);
		if (fd < 0)
			return fd;
		from[i] = (int)fd;
	}
	*status = from[SPAWN_FILES];
	for (int i = 0; i <= SPAWN_FILES; i++) {
		long fd = CALL3(SYS_dup3, from[i], i, i < SPAWN_FILES ? 0 : O_CLOEXEC);
		if (fd < 0)
			return fd;
	}
	*status = SPAWN_FILES;
	return close_from(SPAWN_FILES + 1);
}

// renounce gives up for good the capabilities that a program run by root would have, but those listed. Anyone else
// has none to give up, and is refused.
static void renounce(uint64_t keep)
{
	call6(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0, 0);
	for (int capability = 0; capability < 64; capability++)
		if (!(keep >> capability & 1) && call6(SYS_prctl, PR_CAPBSET_DROP, capability, 0, 0, 0, 0) < 0)
			return;
}

// The numbers are the same on all machines, and the structs are those of linux/landlock.h; older headers lack them.
enum { LANDLOCK_CREATE_RULESET = 444, LANDLOCK_ADD_RULE = 445, LANDLOCK_RESTRICT_SELF = 446, RULE_PATH_BENEATH = 1 };

struct ruleset {
	uint64_t files, net;
};

struct path_beneath {
	uint64_t allowed;
	int32_t parent;
} __attribute__((packed));

// What may be done with a single file: execute, write, read, truncate, ioctl.
enum { RIGHTS_OF_FILES = 1 | 2 | 4 | 1 << 14 | 1 << 15 };

// restrict_files leaves nothing of the file systems but the places. One that is not there gives no rights.
static long restrict_files(const struct spawn *s, int status)
{
	if (s->files_forbidden == 0)
		return 0;
	struct ruleset all = {s->files_forbidden, s->net_forbidden};
	long ruleset = CALL3(LANDLOCK_CREATE_RULESET, &all, s->net_forbidden != 0 ? 16 : 8, 0);
	if (ruleset < 0)
		return ruleset;
	for (int i = 0; i < s->places_count; i++) {
		const struct place *p = &s->places[i];
		if (p->foreign && (i == 0 || !s->places[i - 1].foreign))
			tell(status, SPAWN_OPENS);
		long fd = call6(SYS_openat, AT_FDCWD, (long)p->path, O_PATH | O_CLOEXEC, 0, 0, 0);
		if (fd < 0)
			continue;
		struct path_beneath rule = {p->rights & s->files_forbidden, (int32_t)fd};
		long result = call6(LANDLOCK_ADD_RULE, ruleset, RULE_PATH_BENEATH, (long)&rule, 0, 0, 0);
		if (result == -EINVAL) { // no folder
			rule.allowed &= RIGHTS_OF_FILES;
			result = call6(LANDLOCK_ADD_RULE, ruleset, RULE_PATH_BENEATH, (long)&rule, 0, 0, 0);
		}
		if (result < 0 && !p->foreign)
			return result;
		(void)CALL3(SYS_close, fd, 0, 0);
	}
	tell(status, SPAWN_OPENED);
	return CALL3(LANDLOCK_RESTRICT_SELF, ruleset, 0, 0);
}

static int child(void *argument)
{
	const struct spawn *s = argument;
	int status = s->status;
	long result;
#define MUST(expression)                         \
	do {                                     \
		result = (expression);           \
		if (result < 0)                  \
			give_up(status, result); \
	} while (0)

	// Never outlive pipetune. The parent may have ended before the kernel was told.
	MUST(call6(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0, 0));
	if (CALL3(SYS_getppid, 0, 0, 0) != s->parent)
		CALL3(SYS_exit_group, 127, 0, 0);
	MUST(call6(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0));
	MUST(CALL3(SYS_setpgid, 0, 0, 0)); // Ctrl-C on the terminal goes to the foreground group, which is not ours
	MUST(CALL3(SYS_chdir, "/", 0, 0));
	MUST(place(s, &status));
	MUST(default_signals());
	renounce(s->capabilities);
	MUST(restrict_files(s, status));
	MUST(CALL3(SYS_execve, s->program, s->argv, s->environment));
	return 0; // not reached
}

int spawn(struct spawn *s)
{
	// A signal must not run a Go handler in the child.
	sigset_t all, before;
	sigfillset(&all);
	int result = pthread_sigmask(SIG_SETMASK, &all, &before);
	if (result != 0)
		return -result;
	result = clone(child, s->stack + SPAWN_STACK, CLONE_VM | SIGCHLD, s);
	if (result < 0)
		result = -errno;
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return result;
}
