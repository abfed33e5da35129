// How much a filter may make of what it is given.
#ifndef PIPETUNE_HDF5_BOUND_H
#define PIPETUNE_HDF5_BOUND_H

#include <stddef.h>
#include <hdf5.h>

// METADATA_MOST bounds, in bytes, what is decoded where no dataset is being read: blocks of a group's heap, of which libhdf5 writes none above 64 KiB
// (H5Gprivate.h, H5G_FHEAP_MAN_MAX_DIRECT_SIZE).
#define METADATA_MOST ((size_t)1 << 20)

// decoded_most bounds, in bytes, what a filter decodes in this thread. It is METADATA_MOST but during calls that read or write a dataset.
extern __thread size_t decoded_most;

// bound_filters has libhdf5's filters keep to it. It is called once, before any file is opened.
herr_t bound_filters(void);

#endif
