package stat

import "math"

// Class is a class of durations with how many were of it: from 10^(K/20) to 10^((K+1)/20) microseconds, as the hook
// counts them.
type Class struct {
	K     int
	Count float64
}

// At is the duration, in seconds, at a part (0..1) of a class, on its logarithmic scale.
func (c Class) At(part float64) float64 { return 1e-6 * math.Pow(10, (float64(c.K)+part)/20) }

// ClassQuantile returns the duration, in seconds, within which a part (0..1) of those that were counted lies; false
// without any. The shortest class comes first.
func ClassQuantile(classes []Class, part float64) (float64, bool) {
	all := 0.0
	for _, c := range classes {
		all += c.Count
	}
	below := 0.0
	for _, c := range classes {
		if c.Count > 0 && below+c.Count >= part*all {
			return c.At(Share((part*all - below) / c.Count)), true
		}
		below += c.Count
	}
	return 0, false
}
