package evidence

import "github.com/pipetune/pipetune/internal/evidence/watched"

// What the readers of evidence need of a watch.
type (
	Window     = watched.Window
	Startup    = watched.Startup
	LoaderCall = watched.LoaderCall
)

// How long a watch is to be, in seconds.
const (
	LeastSteady     = watched.LeastSteady
	LeastWatch      = watched.LeastWatch
	AdvisedWatch    = watched.AdvisedWatch
	AdvisedTraining = watched.AdvisedTraining
)
