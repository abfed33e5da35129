package evidence

// How long a watch is to be, in seconds: the figures that flags are held to and that texts name.
const (
	// LeastSteady is for how long a job must be seen after the warm-up before anything is concluded. A watch that is
	// long enough for that without the warm-up that shows in it keeps so much of it: with a word on it, figures are
	// worth more than none.
	LeastSteady = 5.0
	// LeastWatch is the shortest watch that can be asked for: that, and a second for a warm-up and for finding the
	// job's processes.
	LeastWatch = 6.0
	// AdvisedWatch is what to watch for where less was too short: twice the default.
	AdvisedWatch = 60.0
	// AdvisedTraining is for how long a launched job, all of which is watched, should train: what an attached watch
	// takes by default.
	AdvisedTraining = 30.0
)
