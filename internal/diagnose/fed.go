package diagnose

import (
	"fmt"
	"slices"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// FedBy says who feeds a trainer that has no DataLoader workers: "3 processes of the job's own (python3)". It is empty
// where workers do, or the trainer itself.
func FedBy(e *evidence.Evidence) string {
	fed := e.Facts.Fed
	if fed == nil {
		return ""
	}
	one, many := "process", "processes"
	if fed.Threads {
		one, many = "thread", "threads"
	}
	name := ""
	if fed.Name != "" {
		name = " (" + fed.Name + ")"
	}
	return unit.Count(int64(orZero(e, metric.NumWorkers)+0.5), one, many) + " of the job's own" + name
}

// fedHow is who feeds the trainer, and how busy they are.
func fedHow(e *evidence.Evidence) string {
	return fmt.Sprintf("it is fed by %s, busy %s of the time", FedBy(e),
		unit.Percent(stat.Share(orZero(e, metric.WorkerBusy))))
}

// ofDataLoader reports whether a rule is about a DataLoader, which a job that is fed otherwise has not.
func ofDataLoader(rule *Rule, e *evidence.Evidence) bool {
	return e.Facts.Fed != nil && rule.Group() == "loader"
}

// dropCallSettings takes off a finding what it says of a DataLoader's arguments, of which a job that is fed otherwise
// has none.
func dropCallSettings(f *report.Finding) {
	const ofAny = "batch_size" // a batch has a size whoever makes it
	f.Recommendations = slices.DeleteFunc(f.Recommendations, func(c report.Recommendation) bool {
		return callSettings[c.Setting] && c.Setting != ofAny
	})
	Retract(f, func(u report.Unhelpful) bool { return callSettings[u.Setting] && u.Setting != ofAny })
}
