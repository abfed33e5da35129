package batches

// pickledFlow counts batches that hold no tensors (numpy arrays, images, lists): they are pickled through the result
// pipe, so nothing in shared memory shows them. Each is one write call, or two where it is longer than 16,384 bytes,
// the length in front of it being written on its own (multiprocessing/connection.py, Connection._send_bytes; measured
// on Python 3.11: 1.00 and 2.00 writes per batch).
type pickledFlow struct {
	writesPerBatch int64 // 0 = not known, or no pickled batches
	batches        float64
	bytes          int64 // per batch; 0 = not known
}

const (
	oneWriteBytes = 16384
	// pickledWrites is how many writes without a tensor in sight make batches pickled ones; a batch with a tensor is
	// five writes or more.
	pickledWrites = 40
	// pickledListings is how many listings must have found no tensor.
	pickledListings = 20
	// passingBytes is more than a message that passes a tensor's descriptor has, some 60 to 400 bytes.
	passingBytes = 2048
)

// estimate decides how many writes make a batch. Where a worker holds or held a socket, without which no tensor's
// descriptor can be passed, short messages are such descriptors.
func (f *pickledFlow) estimate(all []*tensorLedger) {
	var writes, chars, reads int64
	listings, socket := 0, false
	for _, l := range all {
		writes += l.writes - l.writesAtAttach
		chars += l.wroteChars - l.charsAtAttach
		reads += l.reads - l.readsAtAttach
		listings += l.listings
		socket = socket || l.socket
	}
	if writes < pickledWrites || listings < pickledListings {
		return
	}
	mean := chars / writes
	if socket && mean < passingBytes {
		return
	}
	switch {
	case mean > oneWriteBytes+4:
		f.writesPerBatch = 2
	case mean < (oneWriteBytes+4)/2:
		f.writesPerBatch = 1
	case 2*reads < 3*writes:
		// Taking an index from its queue is two reads at least: less than 1.5 reads per write leaves two writes for a
		// batch.
		f.writesPerBatch = 2
	case 10*reads > 19*writes && 10*reads < 21*writes:
		f.writesPerBatch = 1
	default:
		return
	}
	f.bytes = chars * f.writesPerBatch / writes
}

// credit adds what a worker has handed over since the last call.
func (f *pickledFlow) credit(l *tensorLedger) {
	if f.writesPerBatch == 0 || l.sighted {
		return
	}
	batches := float64((l.writes - l.writesAtAttach) / f.writesPerBatch)
	if grown := batches - l.creditedPickled; grown > 0 {
		l.creditedPickled = batches
		f.batches += grown
	}
}
