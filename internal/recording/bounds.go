package recording

import "fmt"

// Limits that keep a hostile or damaged file from taking the reader down.
const (
	// maxLine bounds a line: a tick of 1,000 processes with 40 readings of 20 bytes has 0.8 MB.
	maxLine   = 4 << 20
	maxSeries = 1 << 20   // series in a recording
	maxPoints = 200 << 20 // readings in a recording
	// maxUnseen bounds the notes of what could not be read: ten for each of the 1,024 processes that a recording holds
	// are half as many.
	maxUnseen = 20_000
	// maxHeld bounds what the names of series, the events and the notes take in memory, as reported by the costs below.
	// A worker that is born and ends costs some 800 bytes, so that a watch may see 200,000 of them.
	maxHeld = 160 << 20
)

// What something takes in memory beside its bytes, on a 64-bit machine: headers of strings, maps of Go 1.24 and later
// (groups of 8 entries), and what a growing list leaves behind.
const (
	costSeries = 128
	costEvent  = 96
	costUnseen = 128
	costAttrs  = 96
	costAttr   = 48
)

// held adds up what a recording takes while it is read.
type held struct {
	most   int // maxHeld
	bytes  int
	points int
	names  map[string]string // each word of closed lists once
}

// maxNames bounds the table of words: the names of kinds, attributes, metrics and roles are some 200.
const maxNames = 4096

// word returns s, the same string for the same word.
func (h *held) word(s string) string {
	if len(s) > 64 {
		h.bytes += len(s)
		return s
	}
	if known, ok := h.names[s]; ok {
		return known
	}
	h.bytes += len(s)
	if h.names == nil {
		h.names = map[string]string{}
	}
	if len(h.names) < maxNames {
		h.names[s] = s
	}
	return s
}

// take accounts for n bytes more.
func (h *held) take(n int) error {
	if h.bytes += n; h.bytes > h.most {
		return fmt.Errorf("%w: its names, events and notes take more than %d MiB", ErrDamaged, h.most>>20)
	}
	return nil
}

// event accounts for an event, and gives its words the strings that are kept already.
func (h *held) event(e Event) (Event, error) {
	e.Kind, e.Entity = h.word(e.Kind), h.word(e.Entity)
	cost := costEvent
	if len(e.Attrs) > 0 {
		attrs := make(map[string]string, len(e.Attrs))
		for k, v := range e.Attrs {
			attrs[h.word(k)] = h.word(v)
		}
		e.Attrs = attrs
		cost += costAttrs + (len(attrs)+7)/8*8*costAttr
	}
	return e, h.take(cost)
}
