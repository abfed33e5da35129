package procfs

import "bytes"

// Pressure is one resource's stall information (Documentation/accounting/psi.rst).
type Pressure struct {
	// SomeSeconds is the total time in which at least one task stalled on the
	// resource, FullSeconds that in which all of them did. For cpu, full is 0 at
	// system level by definition, and absent before Linux 5.13.
	SomeSeconds Optional[float64]
	FullSeconds Optional[float64]
}

// ParsePressure parses a PSI file of the system or of a cgroup.
func ParsePressure(b []byte, p *Pressure) error {
	*p = Pressure{}
	if len(b) == 0 {
		return malformed("pressure", "empty")
	}
	for len(b) > 0 {
		line, rest, whole := nextLine(b)
		if !whole {
			*p = Pressure{}
			return malformed("pressure", "cut")
		}
		b = rest
		kind, values := nextField(line)
		var dst *Optional[float64]
		switch string(kind) {
		case "some":
			dst = &p.SomeSeconds
		case "full":
			dst = &p.FullSeconds
		default:
			continue
		}
		i := bytes.LastIndex(values, totalKey)
		if i < 0 {
			*p = Pressure{}
			return malformed("pressure", "no total")
		}
		field, _ := nextField(values[i+len(totalKey):])
		n, ok := parseCount(field)
		if !ok {
			*p = Pressure{}
			return malformed("pressure", "total")
		}
		*dst = Some(float64(n) / 1e6)
	}
	return nil
}

var totalKey = []byte("total=")
