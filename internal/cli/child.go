package cli

import (
	"os"
	"time"

	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/nvml"
	"github.com/pipetune/pipetune/internal/probe"
	"github.com/pipetune/pipetune/internal/rewrite"
)

// childCommand is the hidden first argument that makes this program one of its own children.
const childCommand = "__child"

// childTasks is the one table of what children do. The paths task is isolate's own.
func childTasks() isolate.Table {
	gpu := nvml.New(time.Now)
	return isolate.Table{
		// the library is shut down in order: a reader killed in a call has frozen GPUs
		nvml.Task:    isolate.WithClose(isolate.Decoded(gpu.Handle), gpu.Close),
		dataset.Task: dataset.Handler,

		dataset.SurveyTask: dataset.SurveyHandler,
		dataset.DigestTask: dataset.DigestHandler,
		probe.Task:         probe.Handler(),
		rewrite.Task:       rewrite.Handler(),
	}
}

func serveChild(args []string) int {
	if len(args) != 1 {
		return exitChildFailure
	}
	requests, answers := isolate.Pipes()
	return isolate.Serve(childTasks(), args[0], requests, answers)
}

// newRunner starts the account of children. foreign says that the watched job belongs to another user.
func newRunner(foreign bool) *isolate.Runner {
	return isolate.New(isolate.Config{Args: []string{childCommand}, Environ: os.Environ(), Foreign: foreign})
}
