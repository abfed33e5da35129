package hdf5

// commonName gives the name people know a filter by, from its number. The first six are libhdf5's own
// (H5Zpublic.h), the others are The HDF Group's list of registered filters (docs/RegisteredFilterPlugins.md of
// github.com/HDFGroup/hdf5_plugins); h5py brings lzf, hdf5plugin most of the rest.
func commonName(id int) (string, bool) {
	name, ok := map[int]string{
		1: "gzip", 2: "shuffle", 3: "fletcher32", 4: "szip", 5: "nbit", 6: "scaleoffset",
		305: "lzo", 307: "bzip2", 32000: "lzf", 32001: "blosc", 32004: "lz4", 32008: "bitshuffle",
		32013: "zfp", 32015: "zstd", 32017: "sz", 32024: "sz3", 32026: "blosc2",
	}[id]
	return name, ok
}
