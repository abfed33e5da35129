//go:build !race

package hdf5

// mappedInTests is the address space that a process which reads has in tests, beyond that at its start: as much as
// pipetune's own.
const mappedInTests = ProcessBytes
