#include <signal.h>

extern volatile sig_atomic_t pipetune_from_process[NSIG];
void pipetune_watch_sender(int number);
