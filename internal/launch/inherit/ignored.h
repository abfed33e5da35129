/* Bit n is set where signal n was ignored when the program was started. */
extern unsigned long long pipetune_ignored_at_start;
