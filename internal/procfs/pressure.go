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
	return emptied(p, eachKeyed(b, "pressure", func(kind, values []byte) bool {
		dst := &p.SomeSeconds
		switch string(kind) {
		case "some":
		case "full":
			dst = &p.FullSeconds
		default:
			return true
		}
		_, total, _ := bytes.Cut(values, totalKey)
		field, _ := nextField(total)
		n, ok := parseCount(field)
		*dst = Some(float64(n) / 1e6)
		return ok
	}))
}

var totalKey = []byte("total=")
