package probe

import (
	"os"

	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/procfs"
)

// reopen has the files of items that stay open just opened. One that cannot be opened fails again when it is read.
func (w *state) reopen(items []int, handle string) {
	w.Forget()
	if handle == handleReopened {
		return
	}
	for _, i := range items {
		if len(w.Handles) == dataset.MaxOpen {
			return
		}
		_, _ = w.HandleOf(w.Sample.Items[i].File)
	}
}

// runDelay is how many seconds this thread was ready to run and waited for a CPU; 0 where that is not counted.
func runDelay() float64 {
	text, err := os.ReadFile("/proc/thread-self/schedstat")
	var s procfs.Schedstat
	if err != nil || procfs.ParseSchedstat(text, &s) != nil {
		return 0
	}
	return s.RunDelay.Seconds()
}
