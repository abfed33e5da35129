package perf

import "encoding/binary"

const (
	recordHeader = 8 // type, misc and size of perf_event_header (linux/perf_event.h)
	// maxRecord bounds a record that is read: a sample of an address and two numbers has 24 bytes.
	maxRecord = 64

	recordSample = 9
)

// decode reads the records between tail and head, which count bytes since the clock began and mean places in the ring
// modulo its length. It stops where the records make no sense.
func (c *Clock) decode(head, tail uint64, visit func(ip uint64)) {
	if head-tail > uint64(len(c.ring)) {
		return
	}
	order := binary.NativeEndian
	for head-tail >= recordHeader {
		c.copy(c.buf[:recordHeader], tail)
		kind, length := order.Uint32(c.buf[:]), uint64(order.Uint16(c.buf[6:]))
		if length < recordHeader || length > head-tail {
			return
		}
		if n := min(length, maxRecord); kind == recordSample && n >= 24 {
			c.copy(c.buf[:n], tail)
			visit(order.Uint64(c.buf[8:]))
		}
		tail += length
	}
}

// copy takes bytes out of the ring, which a record may go around the end of.
func (c *Clock) copy(to []byte, at uint64) {
	from := int(at % uint64(len(c.ring)))
	n := copy(to, c.ring[from:])
	copy(to[n:], c.ring)
}
