package format

// ChunkCacheBytes is the chunk cache that HDF5 libraries before 2.0 give a dataset (H5D_CHUNK_CACHE_NBYTES_DEFAULT).
const ChunkCacheBytes = 1 << 20
