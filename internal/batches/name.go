package batches

import (
	"bytes"
	"strconv"
)

// tensorName is what the name of a shared-memory file of torch tells: /torch_<pid>_<random>_<n>, made by
// NewProcessWideShmHandle (torch/csrc or aten/src/ATen/MapAllocator.cpp). n counts the tensors shared by the process
// since its start, from 0; a forked child goes on with the number of its parent.
type tensorName struct {
	pid    int
	number int64
}

// sharedTensorFolder is where the names lie; parseTensorName takes a name with or without it.
const sharedTensorFolder = "/dev/shm/"

// parseTensorName parses a name, or the target of a descriptor; false for any other. Names without n (before torch
// 1.11) tell nothing and are refused.
func parseTensorName(b []byte) (tensorName, bool) {
	if i := bytes.LastIndex(b, []byte(sharedTensorFolder)); i >= 0 { // not at the start for a job in a chroot
		b = b[i+len(sharedTensorFolder):]
	}
	b = bytes.TrimSuffix(b, deleted)
	rest, ok := bytes.CutPrefix(b, []byte("torch_"))
	if !ok {
		return tensorName{}, false
	}
	pid, rest, _ := bytes.Cut(rest, underscore)
	random, n, _ := bytes.Cut(rest, underscore)
	p, err1 := strconv.ParseUint(string(pid), 10, 31)
	_, err2 := strconv.ParseUint(string(random), 10, 63)
	number, err3 := strconv.ParseUint(string(n), 10, 63)
	return tensorName{pid: int(p), number: int64(number)}, p > 0 && err1 == nil && err2 == nil && err3 == nil
}

// parseDescriptor parses the target of a descriptor that a tensor is shared by: torch takes its name away at once. Of a
// named file, which the file_system sharing strategy leaves, its maker has a descriptor for an instant; one such would
// pass for all of its tensors.
func parseDescriptor(target []byte) (tensorName, bool) {
	if !bytes.HasSuffix(target, deleted) {
		return tensorName{}, false
	}
	return parseTensorName(target)
}

var underscore, deleted = []byte("_"), []byte(" (deleted)")
