package lint

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/pipetune/pipetune/internal/untrusted"
	"github.com/pipetune/pipetune/pkg/report"
)

// Measured is what a report of a run says about a finding, by the measured rule that confirms it.
type Measured struct {
	Verdict Verdict `json:"verdict"`
	Rule    string  `json:"rule"`
	// of the step's time, what is at stake: of a confirmed one
	Score float64 `json:"score,omitempty"`
	Why   string  `json:"why,omitempty"` // the report's summary, or its reason
}

// Verdict is what a measurement says of a finding.
type Verdict string

// The verdicts.
const (
	Confirmed Verdict = "confirmed" // the measured rule found the same call
	Quiet     Verdict = "quiet"     // the run went through that file, and the measured rule found nothing
	Unknown   Verdict = "unknown"   // the measured rule could not be judged
)

// Mark gives each finding what a report says of it. A finding of the report and one of the source are the same where
// the one's rule is what confirms the other's, and the line is the call's. What the report leaves open has no mark.
func (result *Result) Mark(asked Request, r *report.Report) {
	ran := map[string]bool{} // the judged files that the report has a place in
	if r.Job != nil && r.Job.Loader != nil && r.Job.Loader.Location != nil {
		ran[asked.judged(r.Job.Loader.Location.File)] = true
	}
	found := map[string][]report.Finding{}
	for _, m := range r.Findings {
		found[m.Rule] = append(found[m.Rule], m)
		if m.Location != nil {
			ran[asked.judged(m.Location.File)] = true
		}
	}
	for i := range result.Findings {
		f := &result.Findings[i]
		if f.Confirms == "" || f.Cell > 0 || !ran[f.File] {
			continue
		}
		for _, m := range found[f.Confirms] {
			if at := m.Location; at != nil && asked.judged(at.File) == f.File && f.Line <= at.Line &&
				at.Line <= f.EndLine {
				f.Measured = &Measured{Confirmed, m.Rule, m.Score, untrusted.Cut(m.Summary, mostText).String()}
				break
			}
		}
		if len(found[f.Confirms]) > 0 {
			continue // it is that finding, or it is elsewhere
		}
		f.Measured = &Measured{Verdict: Quiet, Rule: f.Confirms}
		if list := found[computes]; len(list) > 0 && strings.HasPrefix(f.Confirms, "storage/") {
			f.Measured.Verdict, f.Measured.Why = Unknown, "the workers compute ("+computes+"), and what of that "+
				"is this line's was not seen"
		}
		for _, a := range r.Abstained {
			if a.Rule == f.Confirms {
				f.Measured.Verdict, f.Measured.Why = Unknown, untrusted.Cut(a.Reason, mostText).String()
			}
		}
	}
}

// computes is the measured rule of workers that compute: reading an index or a header again for each item is that as
// well, and no wait for storage.
const computes = "cpu/decode-bound"

// judged is the judged file that a report names, "" where there is none. The report may be of another machine, and its
// folders may be redacted: the file that agrees in most parts from the end is it.
func (r Request) judged(reported string) (file string) {
	most := 0
	for _, f := range r.Files {
		if n := alike(reported, absolute(r.Folder, f)); n > most {
			most, file = n, f
		}
	}
	return file
}

// alike counts how many parts of two paths agree, from the end.
func alike(a, b string) (n int) {
	x, y := parts(a), parts(b)
	for n < len(x) && n < len(y) && x[len(x)-1-n] == y[len(y)-1-n] {
		n++
	}
	return n
}

func parts(path string) []string { return strings.Split(filepath.ToSlash(filepath.Clean(path)), "/") }

// said is a measurement in words, for a line below a finding.
func (m *Measured) said() string {
	switch m.Verdict {
	case Confirmed:
		return fmt.Sprintf("confirmed by %s, %.2g %% of the step's time at stake: %s", m.Rule, 100*m.Score, m.Why)
	case Unknown:
		return fmt.Sprintf("%s could not be judged: %s", m.Rule, m.Why)
	}
	return m.Rule + " found nothing in this run"
}
