void pipetune_watch_sender(int number);
int pipetune_from_kernel(int number);
