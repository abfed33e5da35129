package batches

import "bytes"

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
	b = bytes.TrimSuffix(b, []byte(" (deleted)"))
	rest, ok := bytes.CutPrefix(b, []byte("torch_"))
	if !ok {
		return tensorName{}, false
	}
	pid, rest, ok1 := leadingNumber(rest)
	_, rest, ok2 := leadingNumber(rest)
	n, rest, ok3 := leadingNumber(rest)
	if !ok1 || !ok2 || !ok3 || len(rest) != 0 || pid == 0 || pid > 1<<31 {
		return tensorName{}, false
	}
	return tensorName{pid: int(pid), number: n}, true
}

// leadingNumber cuts a number of at most 18 digits and the underscore after it.
func leadingNumber(b []byte) (int64, []byte, bool) {
	var n int64
	i := 0
	for i < len(b) && i < 18 && b[i] >= '0' && b[i] <= '9' {
		n = n*10 + int64(b[i]-'0')
		i++
	}
	switch {
	case i == 0:
		return 0, b, false
	case i == len(b):
		return n, nil, true
	case b[i] != '_':
		return 0, b, false
	}
	return n, b[i+1:], true
}
