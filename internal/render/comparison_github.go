package render

import (
	"fmt"
	"io"
	"strings"

	"github.com/pipetune/pipetune/pkg/report"
)

// ComparisonAnnotation writes one workflow command of GitHub Actions, and nothing else: an error where a gate failed, a warning where the data
// cannot tell or the figure got worse, else a notice. The Markdown goes to the job's summary by way of -o.
func ComparisonAnnotation(w io.Writer, c *report.Comparison, _ Options) error {
	level, message := "notice", []string{outcome(c)}
	if x := leadingChange(c); c.Comparable == report.NotComparable || x != nil && x.Answer == report.Worse {
		level = "warning"
	}
	if c.Comparable != report.Comparable {
		names := []string{}
		for _, x := range c.Conditions {
			names = append(names, x.Name)
		}
		message = append(message, "comparable: "+strings.ReplaceAll(string(c.Comparable), "-", " ")+" ("+strings.Join(names, ", ")+")")
	}
	if g := c.Gate; g != nil {
		message = append(message, "gate "+gateText(g))
		switch g.Answer {
		case report.GateFailed:
			level = "error"
		case report.GateUnclear:
			level = "warning"
		}
	}
	if len(c.Predictions) > 0 {
		message = append(message, tallyText(c.Tally))
	}
	for i, m := range message {
		message[i] = workflowData.Replace(cut(safe(m), annotationColumns))
	}
	if _, err := fmt.Fprintf(w, "::%s title=pipetune compare::%s\n", level, strings.Join(message, "%0A")); err != nil {
		return fmt.Errorf("writing comparison: %w", err)
	}
	return nil
}

// annotationColumns bounds one line of an annotation.
const annotationColumns = 300

// workflowData escapes the message of a workflow command as the runner undoes it (actions/toolkit, core/src/command.ts).
var workflowData = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
