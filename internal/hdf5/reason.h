// What every preamble of this package needs: silence, and libhdf5's own words for what failed.
#include <string.h>
#include <hdf5.h>

// Of the error stack, its innermost entry: what went wrong, before what was being done.
struct reason { char what[256]; };

static herr_t innermost(unsigned n, const H5E_error2_t *e, void *data) {
	struct reason *r = data;
	if (n == 0 && e->desc) { strncpy(r->what, e->desc, sizeof r->what - 1); }
	return 0;
}

static inline void forget(void) { H5Eclear2(H5E_DEFAULT); }

static inline void explain(struct reason *r) {
	memset(r, 0, sizeof *r);
	H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, innermost, r);
	forget();
}

// Closing something clears the error stack, as every call does. What failed is taken away before that and put back afterwards.
static inline hid_t keep_reason(int failed) { return failed ? H5Eget_current_stack() : -1; }
static inline void put_back(hid_t kept) { if (kept >= 0) H5Eset_current_stack(kept); }

// hush keeps this thread from printing: libhdf5 decides that for each thread anew, and Go moves its goroutines between threads.
static inline void hush(void) {
	static __thread int quiet;
	if (!quiet) { H5Eset_auto2(H5E_DEFAULT, NULL, NULL); quiet = 1; }
}
