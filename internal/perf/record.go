package perf

import "encoding/binary"

const (
	recordHeader = 8 // type, misc and size of perf_event_header (linux/perf_event.h)
	// maxRecord bounds a record that is read: a sample of an address and two numbers has 24 bytes, a count of lost ones
	// as many.
	maxRecord = 64

	recordLost   = 2
	recordSample = 9
)

// decode reads the records between tail and head, which count bytes since the clock began and mean places in the ring
// modulo its length. It returns where it got to: head, also where the records make no sense.
func (c *Clock) decode(head, tail uint64, visit func(ip uint64)) (newTail, lost uint64) {
	size := uint64(len(c.ring))
	if head-tail > size {
		return head, 0
	}
	order := binary.NativeEndian
	for head-tail >= recordHeader {
		c.copy(c.buf[:recordHeader], tail)
		kind, length := order.Uint32(c.buf[:]), uint64(order.Uint16(c.buf[6:]))
		if length < recordHeader || length > head-tail {
			return head, lost
		}
		if n := min(length, maxRecord); n >= 24 {
			c.copy(c.buf[:n], tail)
			switch kind {
			case recordSample:
				visit(order.Uint64(c.buf[8:]))
			case recordLost:
				lost += order.Uint64(c.buf[16:])
			}
		}
		tail += length
	}
	return head, lost
}

// copy takes bytes out of the ring, which a record may go around the end of.
func (c *Clock) copy(to []byte, at uint64) {
	from := int(at % uint64(len(c.ring)))
	n := copy(to, c.ring[from:])
	copy(to[n:], c.ring)
}
