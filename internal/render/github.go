package render

import (
	"strings"

	"github.com/pipetune/pipetune/internal/document"
)

// annotation writes one workflow command of GitHub Actions, and nothing else: an error where a gate failed, a warning
// where the data cannot tell or the figure got worse, else a notice. The Markdown goes to the job's summary by way of
// -o.
func annotation(d *document.Document, _ Options) string {
	level := "notice"
	if d.Tone == document.Caution {
		level = "warning"
	}
	message := []string{d.Answer.Headline}
	if t := d.Trust; t != nil && t.Tone != document.Good {
		var names []string
		for _, x := range t.Points {
			names = append(names, x.Name)
		}
		word, _, _ := strings.Cut(t.Text, ":")
		message = append(message, strings.ToLower(t.Label+": "+word)+" ("+strings.Join(names, ", ")+")")
	}
	for _, l := range d.Answer.Lines {
		if l.Tone == document.Plain {
			continue
		}
		message = append(message, strings.ToLower(l.Label)+" "+l.Text)
		switch l.Tone {
		case document.Bad:
			level = "error"
		case document.Caution:
			level = "warning"
		}
	}
	for _, s := range d.Sections {
		for _, part := range s.Parts {
			if list, ok := part.(*document.Predictions); ok {
				message = append(message, list.Tally)
			}
		}
	}
	for i, m := range message {
		message[i] = workflowData.Replace(string(cut(safe(m), annotationColumns)))
	}
	return "::" + level + " title=pipetune compare::" + strings.Join(message, "%0A") + "\n"
}

// annotationColumns bounds one line of an annotation.
const annotationColumns = 300

// workflowData escapes the message of a workflow command as the runner undoes it (actions/toolkit,
// core/src/command.ts).
var workflowData = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
