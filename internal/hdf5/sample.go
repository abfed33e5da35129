package hdf5

import _ "embed"

// Sample is a small whole HDF5 file: dataset x of 4 × 3 uint8 in chunks of 2 × 3 with deflate, written by h5py 3.7 with
// libver "latest". With it one can try whether this library reads here at all.
//
//go:embed sample.h5
var Sample []byte
