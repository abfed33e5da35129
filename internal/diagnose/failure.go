package diagnose

import (
	"slices"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/pkg/report"
)

// failureFirst gives, in a report that concludes nothing, the failure of a launched job as the first reason: it is
// why too little was seen, and a longer watch would not see more.
func failureFirst(e *evidence.Evidence, r *report.Report) {
	if e.Window.Failure == "" || r.Verdict == nil || r.Verdict.Class != report.Inconclusive {
		return
	}
	r.Verdict.Doubts = append([]string{"the job " + e.Window.Failure}, r.Verdict.Doubts...)
	r.Verdict.Statement = inconclusive(e, r.Verdict.Doubts)
	longer := longerWatch(e)
	r.Next = slices.DeleteFunc(r.Next, func(command string) bool { return command == longer })
}
