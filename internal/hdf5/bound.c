#include <limits.h>
#include <stdlib.h>
#include <zlib.h>
#include "bound.h"

// A filter gives buffers to libhdf5 and takes some from it. They are malloc's unless libhdf5 was built to watch them.
#ifdef H5_MEMORY_ALLOC_SANITY_CHECK
#error "this libhdf5 wants its buffers from H5allocate_memory"
#endif

// libhdf5 inflates until the data ends, whatever the chunk is said to hold, and szip makes room for as much as the chunk itself says. These filters
// take their places, and refuse what is more than the bound.

// The filters of libhdf5, in its tables by these names in all of 1.10; szip is not in all builds.
extern const H5Z_class2_t H5Z_DEFLATE[1];
extern const H5Z_class2_t H5Z_SZIP[1] __attribute__((weak));

// H5Z_register is what H5Zregister calls. It puts a filter in the place of one with the same number, where H5Zregister refuses numbers below 256.
extern herr_t H5Z_register(const H5Z_class2_t *filter);

__thread size_t decoded_most = METADATA_MOST;

// refuse gives libhdf5 the reason of a failure, which is a filter's result of 0.
static size_t refuse(const char *where, unsigned line, const char *why) {
	H5Epush2(H5E_DEFAULT, __FILE__, where, line, H5E_ERR_CLS, H5E_PLINE, H5E_CANTFILTER, "%s", why);
	return 0;
}

#define REFUSE(why) refuse(__func__, __LINE__, why)

// inflate_within inflates to a new buffer, of which it fills no more than the bound. It asks for what libhdf5's own filter asks for, first as much as the
// data has and then twice as much each time, so that it costs what it costs a job: from what sizes malloc has seen it learns which it keeps.
static size_t inflate_within(size_t nbytes, size_t *size, void **data) {
	size_t room = *size, usable = room < decoded_most ? room : decoded_most, made = 0;
	void *to, *more;
	z_stream z = {.next_in = *data, .avail_in = (uInt)nbytes, .avail_out = (uInt)usable};
	const char *why = "inflate() failed";
	int status;
	if (nbytes > UINT_MAX || decoded_most > UINT_MAX) return REFUSE("more than zlib counts");
	if (usable == 0 || !(z.next_out = to = malloc(room))) return REFUSE("no memory to inflate a chunk");
	if (inflateInit(&z) != Z_OK) {
		free(to);
		return REFUSE("inflateInit() failed");
	}
	while ((status = inflate(&z, Z_SYNC_FLUSH)) == Z_OK) {
		if (z.avail_out > 0) continue;
		if (usable == decoded_most) { why = "a chunk inflates to more than its size"; break; }
		made = usable;
		room *= 2;
		usable = room < decoded_most ? room : decoded_most;
		if (!(more = realloc(to, room)) && !(more = realloc(to, room = usable))) { why = "no memory to inflate a chunk"; break; }
		to = more;
		z.next_out = (Bytef *)to + made;
		z.avail_out = (uInt)(usable - made);
	}
	made = z.total_out;
	inflateEnd(&z);
	if (status != Z_STREAM_END) {
		free(to);
		return REFUSE(why);
	}
	free(*data);
	*data = to;
	*size = room;
	return made;
}

static size_t deflate_filter(unsigned flags, size_t n, const unsigned values[], size_t nbytes, size_t *size, void **data) {
	if (!(flags & H5Z_FLAG_REVERSE)) return H5Z_DEFLATE->filter(flags, n, values, nbytes, size, data);
	if (n != 1 || values[0] > 9) return REFUSE("invalid deflate aggression level");
	return inflate_within(nbytes, size, data);
}

// What libsz allows (szlib.h); libaec, which stands in for it, does not ask, and decodes a line of any length to a buffer of its own.
#define SZIP_PIXELS_PER_BLOCK 32
#define SZIP_PIXELS_PER_LINE 4096

static size_t szip_filter(unsigned flags, size_t n, const unsigned values[], size_t nbytes, size_t *size, void **data) {
	if (flags & H5Z_FLAG_REVERSE) {
		const unsigned char *head = *data;
		unsigned block, line;
		if (nbytes < 4 || n != H5Z_SZIP_TOTAL_NPARMS) return REFUSE("a chunk that szip did not write");
		block = values[H5Z_SZIP_PARM_PPB];
		line = values[H5Z_SZIP_PARM_PPS];
		if (block < 1 || block > SZIP_PIXELS_PER_BLOCK || line < block || line > SZIP_PIXELS_PER_LINE) return REFUSE("parameters that szip does not have");
		if ((head[0] | (size_t)head[1] << 8 | (size_t)head[2] << 16 | (size_t)head[3] << 24) > decoded_most) return REFUSE("a chunk says it is more than its size");
	}
	return H5Z_SZIP->filter(flags, n, values, nbytes, size, data);
}

herr_t bound_filters(void) {
	H5Z_class2_t filter = H5Z_DEFLATE[0];
	if (H5open() < 0) return -1;
	filter.filter = deflate_filter;
	if (H5Z_register(&filter) < 0) return -1;
	if (&H5Z_SZIP[0] == NULL) return 0;
	filter = H5Z_SZIP[0];
	filter.filter = szip_filter;
	return H5Z_register(&filter);
}
