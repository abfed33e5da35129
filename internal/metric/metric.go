// Package metric is the vocabulary of everything pipetune sees: each signal's name, unit, kind and meaning.
//
// It holds words and no logic. A signal is declared by the list that it belongs to (catalogue.go). The raw signals (one
// file per source: cpu.go, disk.go, …) are written into a recording as they were read; counters stay cumulative. The
// derived ones (derived.go) are what package evidence computes from them over the steady window, and what rules read.
package metric

// Unit is the base unit of a signal's values. Human units (%, ms, MiB) exist only where a report is rendered.
type Unit string

// The units in use. Ratios lie in 0..1 unless the signal's help says otherwise.
const (
	Seconds   Unit = "s"
	Bytes     Unit = "bytes"
	BytesPerS Unit = "bytes/s"
	PerSecond Unit = "1/s"
	Ratio     Unit = "ratio"
	Count     Unit = "1"
	Hertz     Unit = "Hz"
	Watts     Unit = "W"
	Bitmask   Unit = "bitmask"
	Cores     Unit = "cores"
)

// Kind says how a signal's values are to be read.
type Kind uint8

const (
	// Gauge is a value at an instant.
	Gauge Kind = iota
	// Counter is cumulative since some unknown origin; only differences mean something.
	Counter
)

// Desc describes one signal. The zero value describes nothing and is never valid.
type Desc struct {
	Name string // lower snake case with the base unit as suffix, unique in the catalogue
	Unit Unit
	Kind Kind
	Help string // one sentence: what it is and where it is read
}
