//go:build race

package hdf5

// The race detector maps shadow memory for what Go allocates, several bytes for each: address space has no bound under
// it.
const mappedInTests = 0
