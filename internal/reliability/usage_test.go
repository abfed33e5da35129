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

// usage is what a program takes, read from /proc: CPU time is the kernel's account, which a busy machine does not spoil
// as it does times of the clock.
type usage struct {
	at      time.Duration // since the program's start
	cpu     time.Duration // of it and of all it has started
	alone   time.Duration // CPU time of it alone
	rss     int64         // bytes, of it and of its helpers that run now
	own     int64         // bytes, of it alone
	peak    int64         // bytes, of it alone
	fds     int           // of it alone
	threads int           // of it alone
	helpers int
}

// clockTick is the kernel's unit of CPU time towards programs: USER_HZ, 100 a second on every architecture (man 5
// proc).
const clockTick = 10 * time.Millisecond

// usage reads what a program takes now; false once it has ended.
func (c *command) usage() (usage, bool) {
	c.stand.Helper()
	u := usage{}
	page := int64(os.Getpagesize())
	processes(func(pid int, stat []string) bool {
		own := pid == c.pid()
		if stat[3] != strconv.Itoa(c.pid()) || stat[0] == "Z" {
			return false
		}
		u.cpu += clockTick * time.Duration(number(stat[11])+number(stat[12]))
		u.rss += page * number(stat[21])
		if own {
			u.cpu += clockTick * time.Duration(number(stat[13])+number(stat[14])) // children that have ended
			u.alone = clockTick * time.Duration(number(stat[11])+number(stat[12]))
			u.own, u.threads = page*number(stat[21]), int(number(stat[17]))
		} else {
			u.helpers++
		}
		return true
	})
	fds, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(c.pid()), "fd"))
	u.fds, u.peak = len(fds), peak(c.pid())
	if err != nil || u.threads == 0 {
		return usage{}, false
	}
	return u, u.peak > 0
}

func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64) // the kernel writes numbers
	return n
}

// meter reads a program's usage every so often until it ends, or until enough says so.
func (c *command) meter(every time.Duration, enough func(usage) bool) []usage {
	c.stand.Helper()
	var readings []usage
	began := time.Now()
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		u, runs := c.usage()
		if !runs {
			return readings
		}
		u.at = time.Since(began)
		readings = append(readings, u)
		if enough != nil && enough(u) {
			return readings
		}
		select {
		case <-c.ended:
			return readings
		case <-ticker.C:
		}
	}
}

// cost is what a watch took between its start-up and its end.
type cost struct {
	share float64 // of one CPU
	rss   int64   // bytes, the most of pipetune and its helpers together
}

// startUp is left out of the share of a CPU a watch takes: reading the programs' pages, and the look for the job.
const startUp = 3 * time.Second

// costOf sums up readings of a watch.
func (s *stand) costOf(readings []usage) cost {
	s.Helper()
	var k cost
	var from *usage
	for i, u := range readings {
		k.rss = max(k.rss, u.rss)
		if from == nil && u.at >= startUp {
			from = &readings[i]
		}
	}
	last := len(readings) - 1
	if from == nil || readings[last].at-from.at < startUp {
		s.Fatalf("the watch was too short to be measured: %d readings", len(readings))
	}
	k.share = (readings[last].cpu - from.cpu).Seconds() / (readings[last].at - from.at).Seconds()
	return k
}

// mib is bytes in MiB.
func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }

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
