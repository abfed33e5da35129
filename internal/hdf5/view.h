// A dataset that is open for reading, and the two ways to read an item of it.
#include <string.h>
#include <hdf5.h>
#include "bound.h"
#include "reason.h"

// A dataset that is open for reading, with everything a read needs made once.
struct view {
	hid_t dset, type;
	hid_t file;         // the dataset's extent; its selection changes with each read
	hid_t item, block;  // shapes of what is read: one item, and the last block
	size_t most;        // bytes that a filter may make of a chunk
	int rank;
	hsize_t shape[H5S_MAX_RANK], start[H5S_MAX_RANK], count[H5S_MAX_RANK], last[H5S_MAX_RANK];
	struct reason why;  // of the last call that failed
};

static inline herr_t failed(struct view *v) { explain(&v->why); return -1; }

// read_view reads what is selected, and has filters keep to the bound.
static inline herr_t read_view(struct view *v, hid_t memory, hid_t file, void *to) {
	decoded_most = v->most;
	herr_t done = H5Dread(v->dset, v->type, memory, file, H5P_DEFAULT, to);
	decoded_most = METADATA_MOST;
	return done < 0 ? failed(v) : 0;
}

static inline herr_t view_item(struct view *v, unsigned long long index, void *to) {
	hush();
	v->start[0] = index;
	if (H5Sselect_hyperslab(v->file, H5S_SELECT_SET, v->start, NULL, v->count, NULL) < 0) return failed(v);
	return read_view(v, v->item, v->file, to);
}

// reshape gives the block the shape of what is read next.
static inline herr_t reshape(struct view *v, const hsize_t *count) {
	if (memcmp(v->last, count, v->rank * sizeof *count) == 0) return 0;
	if (H5Sset_extent_simple(v->block, v->rank, count, NULL) < 0) return -1;
	memcpy(v->last, count, v->rank * sizeof *count);
	return 0;
}

static inline herr_t view_block(struct view *v, const long long *start, const long long *count, void *to) {
	hsize_t s[H5S_MAX_RANK], n[H5S_MAX_RANK];
	hush();
	if (v->rank == 0) return read_view(v, H5S_ALL, H5S_ALL, to);
	for (int i = 0; i < v->rank; i++) { s[i] = start[i]; n[i] = count[i]; }
	if (reshape(v, n) < 0) return failed(v);
	if (H5Sselect_hyperslab(v->file, H5S_SELECT_SET, s, NULL, n, NULL) < 0) return failed(v);
	return read_view(v, v->block, v->file, to);
}
