package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// Bounds of what Decode reads. Reports are some 10 to 100 kB with up to 4,000 values; three bytes of a hostile one
// ({},) become some 300 in memory, twice over while a list grows, so that it is the number of values that bounds what a
// file may cost, more than its length.
const (
	MaxBytes  = 16 << 20
	MaxValues = 100_000
	maxDepth  = 100
)

// checkShape refuses what no pipetune writes and a decoder would take: more values or deeper nesting than a report has,
// and an object that names a key twice, of which two readers may believe two different ones. b is JSON without mistakes
// of syntax.
func checkShape(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var open []map[string]bool // keys of the objects around, nil for a list
	key := false               // the next string is a key
	for values := 0; ; {
		token, err := d.Token()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w: %v", ErrInvalid, err)
		}
		inside := len(open) > 0 && open[len(open)-1] != nil
		switch t := token.(type) {
		case json.Delim:
			switch t {
			case '{':
				open, key = append(open, map[string]bool{}), true
			case '[':
				open, key = append(open, nil), false
			default:
				open = open[:len(open)-1]
				key = len(open) > 0 && open[len(open)-1] != nil
				continue
			}
		case string:
			if inside && key {
				name := strings.ToLower(t) // as encoding/json takes it
				if open[len(open)-1][name] {
					return fmt.Errorf("%w: the key %.40q stands twice in one object", ErrInvalid, t)
				}
				open[len(open)-1][name] = true
				key = false
				continue
			}
			key = inside
		default:
			key = inside
		}
		if values++; values > MaxValues {
			return fmt.Errorf("%w: more than %d values", ErrInvalid, MaxValues)
		}
		if len(open) > maxDepth {
			return fmt.Errorf("%w: nested deeper than %d levels", ErrInvalid, maxDepth)
		}
	}
}
