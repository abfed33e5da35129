//go:build reliability

package reliability

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// helper is a child process that pipetune had.
type helper struct {
	task string // what it was for
	peak int64  // bytes of resident memory at most, as last seen
}

// family is what a run of pipetune was seen to consist of.
type family struct {
	helpers  map[int]*helper
	mostHung int               // helpers in state D for long at one time
	asleep   map[string]string // threads of pipetune's own in state D for long, and where
	quit     chan struct{}
	over     chan struct{}
}

// longSleep says what waits for a mount that hangs, for as long as anybody looks, from what sleeps uninterruptibly for
// a moment.
const longSleep = 500 * time.Millisecond

// follow looks at a run's processes and threads until it is told to stop.
func (c *command) follow() *family {
	f := &family{helpers: map[int]*helper{}, asleep: map[string]string{}, quit: make(chan struct{}),
		over: make(chan struct{})}
	go func() {
		defer close(f.over)
		since := map[string]time.Time{}
		for {
			f.look(c.pid(), since)
			select {
			case <-f.quit:
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	}()
	return f
}

// stop ends looking; only then may the rest be read.
func (f *family) stop() {
	close(f.quit)
	<-f.over
}

// of lists the process ids of one task.
func (f *family) of(task string) (pids []int) {
	for pid, h := range f.helpers {
		if h.task == task {
			pids = append(pids, pid)
		}
	}
	return pids
}

// peakMiB is the most memory that one process of a task had.
func (f *family) peakMiB(task string) float64 {
	most := int64(0)
	for _, pid := range f.of(task) {
		most = max(most, f.helpers[pid].peak)
	}
	return mib(most)
}

// look is one look at everything. Processes and threads may end under it.
func (f *family) look(pid int, since map[string]time.Time) {
	asleep := func(stat string) bool {
		text, err := os.ReadFile(stat)
		_, rest, _ := strings.Cut(string(text), ") ")
		if err != nil || !strings.HasPrefix(rest, "D") {
			delete(since, stat)
			return false
		}
		if since[stat].IsZero() {
			since[stat] = time.Now()
		}
		return time.Since(since[stat]) > longSleep
	}
	hung := 0
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	for _, task := range tasks {
		if asleep(task + "/stat") {
			where, _ := os.ReadFile(task + "/wchan")
			f.asleep[task] = string(where)
		}
		children, _ := os.ReadFile(task + "/children")
		for field := range strings.FieldsSeq(string(children)) {
			child, err := strconv.Atoi(field)
			if err != nil {
				continue
			}
			if f.one(child); asleep(fmt.Sprintf("/proc/%d/stat", child)) {
				hung++
			}
		}
	}
	f.mostHung = max(f.mostHung, hung)
}

// one notes a child.
func (f *family) one(pid int) {
	h := f.helpers[pid]
	if h == nil {
		h = &helper{}
		f.helpers[pid] = h
	}
	if args := arguments(pid); len(args) == 3 && args[1] == "__child" {
		h.task = args[2]
	}
	h.peak = max(h.peak, peak(pid))
}

func arguments(pid int) []string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // it may have ended
	return strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
}

// statusNumber is the last number of a line of /proc/PID/status, 0 where there is none.
func statusNumber(pid int, name string) int64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // it may have ended
	_, rest, _ := strings.Cut(string(text), "\n"+name+":")
	line, _, _ := strings.Cut(rest, "\n")
	fields := strings.Fields(strings.TrimSuffix(line, " kB"))
	if len(fields) == 0 {
		return 0
	}
	return number(fields[len(fields)-1])
}

// peak is the most memory that a process has held at once, in bytes; 0 for one that has ended.
func peak(pid int) int64 { return statusNumber(pid, "VmHWM") << 10 }
