#ifndef PIPETUNE_ISOLATE_SPAWN_H
#define PIPETUNE_ISOLATE_SPAWN_H

// How many descriptors a child is given: 0 to 4, standard input, output and error, requests and answers.
#define SPAWN_FILES 5

// spawn_stack is what the C below needs between clone and execve: a few frames and the names of open descriptors.
#define SPAWN_STACK 32768

#include <stdint.h>

// Further words of the status pipe; see its field below.
enum { SPAWN_OPENS = -1, SPAWN_OPENED = -2 };

// struct place is a file or folder that the child may use, with its rights in the bits of linux/landlock.h.
struct place {
	const char *path;
	uint64_t rights;
	int foreign; // not pipetune's own: opening it may hang
};

// struct spawn is all that a child reads before its program runs. It is the parent's memory, which the child shares
// until then: it must not be freed before the other end of status says end of file.
struct spawn {
	const char *program;
	char **argv;
	char **environment;
	int files[SPAWN_FILES]; // of the parent; -1 is /dev/null
	int status;             // the write end of a pipe, of int: an errno when the program could not be run, and before
	                        // that SPAWN_OPENS when a place is opened that may hang, and SPAWN_OPENED
	int parent;             // its process id, as the child must find it
	char *stack;            // SPAWN_STACK bytes
	uint64_t capabilities;  // what a child of root may keep, by their numbers
	uint64_t files_forbidden, net_forbidden; // but for places, in the bits of linux/landlock.h; 0: no Landlock
	const struct place *places;              // pipetune's own first
	int places_count;
};

// spawn starts a child and does not wait for its program to run. It returns its process id or a negative errno.
int spawn(struct spawn *s);

#endif
