// A dataset that is open for reading, and the two ways to read an item of it.
#include <string.h>
#include <hdf5.h>
#include "reason.h"

// A dataset that is open for reading, with everything a read needs made once.
struct view {
	hid_t dset, type;
	hid_t file;         // the dataset's extent; its selection changes with each read
	hid_t item, block;  // shapes of what is read: one item, and the last block
	int rank;
	hsize_t shape[H5S_MAX_RANK], start[H5S_MAX_RANK], count[H5S_MAX_RANK], last[H5S_MAX_RANK];
	struct reason why;  // of the last call that failed
};

static inline herr_t failed(struct view *v) { explain(&v->why); return -1; }

static inline herr_t view_item(struct view *v, unsigned long long index, void *to) {
	hush();
	v->start[0] = index;
	if (H5Sselect_hyperslab(v->file, H5S_SELECT_SET, v->start, NULL, v->count, NULL) < 0) return failed(v);
	if (H5Dread(v->dset, v->type, v->item, v->file, H5P_DEFAULT, to) < 0) return failed(v);
	return 0;
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
	if (v->rank == 0) return H5Dread(v->dset, v->type, H5S_ALL, H5S_ALL, H5P_DEFAULT, to) < 0 ? failed(v) : 0;
	for (int i = 0; i < v->rank; i++) { s[i] = start[i]; n[i] = count[i]; }
	if (reshape(v, n) < 0) return failed(v);
	if (H5Sselect_hyperslab(v->file, H5S_SELECT_SET, s, NULL, n, NULL) < 0) return failed(v);
	if (H5Dread(v->dset, v->type, v->block, v->file, H5P_DEFAULT, to) < 0) return failed(v);
	return 0;
}
