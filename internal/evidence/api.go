package evidence

import (
	"github.com/pipetune/pipetune/internal/evidence/hooked"
	"github.com/pipetune/pipetune/internal/evidence/watched"
)

// What the readers of evidence need of a watch, and of what the hook reported.
type (
	Startup    = watched.Startup
	LoaderCall = watched.LoaderCall
	Hook       = hooked.Hook
	Site       = hooked.Site
	SlowItem   = hooked.SlowItem
	EpochCost  = hooked.EpochCost
	Evaluating = hooked.Evaluating
)

// The samplers that PyTorch makes itself.
const (
	InSequence = hooked.InSequence
	AtRandom   = hooked.AtRandom
)

// How long a watch is to be, in seconds.
const (
	LeastSteady     = watched.LeastSteady
	LeastWatch      = watched.LeastWatch
	AdvisedWatch    = watched.AdvisedWatch
	AdvisedTraining = watched.AdvisedTraining
)
