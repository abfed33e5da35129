package metric

// Basis says where a number comes from. Its words are those of the report.
type Basis string

const (
	// Measured was read or counted.
	Measured Basis = "measured"
	// Inferred was measured beside the thing itself; the signal's help says how.
	Inferred Basis = "inferred"
	// Modelled follows from measured numbers by the loader model.
	Modelled Basis = "modelled"
	// Assumed is a default that was not seen to hold.
	Assumed Basis = "assumed"
)
