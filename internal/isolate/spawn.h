#ifndef PIPETUNE_ISOLATE_SPAWN_H
#define PIPETUNE_ISOLATE_SPAWN_H

// How many descriptors a child is given: 0 to 4, standard input, output and error, requests and answers.
#define SPAWN_FILES 5

// spawn_stack is what the C below needs between clone and execve: a few frames and the names of open descriptors.
#define SPAWN_STACK 32768

// struct spawn is all that a child reads before its program runs. It is the parent's memory, which the child shares
// until then: it must not be freed before the other end of status says end of file.
struct spawn {
	const char *program;
	char **argv;
	char **environment;
	int files[SPAWN_FILES]; // of the parent; -1 is /dev/null
	int status;             // the write end of a pipe: an errno when the program could not be run, else nothing
	int parent;             // its process id, as the child must find it
	char *stack;            // SPAWN_STACK bytes
};

// spawn starts a child and does not wait for its program to run. It returns its process id or a negative errno.
int spawn(struct spawn *s);

#endif
