package report

import "io"

// EncodeMerged writes m as indented JSON, empty lists as []. It refuses numbers that are not finite and unknown words.
func EncodeMerged(w io.Writer, m *Merged) error { return encode(w, m, "merged reports") }

// Validate holds m to the contract. It reports the first breach.
func (m *Merged) Validate() error {
	v := validator{}
	v.word("kind", m.Kind, "diagnose")
	v.finite("window", m.Window.DurationS)
	for _, s := range m.Figures {
		v.word(s.Metric+" of", s.Of, "nodes", "ranks")
		v.finite(s.Metric, s.Median, s.Worst)
		v.known(s.Metric+" skew", s.Skew)
	}
	for _, s := range m.Stragglers {
		v.ratio("straggler", &s.InputWaitRatio)
		v.ratio("straggler above the median", &s.Above)
	}
	for _, n := range m.Nodes {
		v.ratio(n.Name+" seen", &n.Seen)
		for name, x := range n.Figures {
			v.finite(n.Name+" "+name, x)
		}
	}
	for _, l := range m.LeftOut {
		v.word(l.File+" reason", l.Reason, LeftReasons...)
	}
	return v.invalid("merged report")
}
