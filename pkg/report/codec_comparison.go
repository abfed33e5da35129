package report

import "io"

// EncodeComparison writes c as indented JSON, empty lists as []. It refuses numbers that are not finite and unknown
// words.
func EncodeComparison(w io.Writer, c *Comparison) error { return encode(w, c, "comparison") }

// Validate holds c to the contract. It reports the first breach.
func (c *Comparison) Validate() error {
	v := validator{}
	v.word("kind", c.Kind, "diagnose", "bench-io")
	v.word("comparable", string(c.Comparable), "yes", "with-care", "no")
	for _, x := range c.Changes {
		what := "change of " + x.Key
		v.figure(what, &x.Before)
		v.figure(what, &x.After)
		v.word(what+" answer", string(x.Answer), "better", "worse", "higher", "lower", "unclear")
		v.word(what+" method", x.Method, ByRuns, ByWindows, ByIntervals)
		v.known(what, x.Change, x.Lo, x.Hi)
		v.ratio(what+" p", x.P)
		if (x.Lo == nil) != (x.Hi == nil) || x.Lo != nil && *x.Lo > *x.Hi {
			v.fail(what, "interval upside down")
		}
	}
	for _, p := range c.Predictions {
		what := "prediction of " + p.Metric
		v.finite(what, p.Lo, p.Hi)
		v.word(what+" outcome", string(p.Outcome), "inside", "above", "below", "cannot-tell", "not-judged")
		v.figure(what, p.Observed)
	}
	if g := c.Gate; g != nil {
		v.finite("gate", g.Limit)
		v.word("gate answer", string(g.Answer), "passed", "failed", "cannot-tell")
	}
	return v.invalid("comparison")
}
