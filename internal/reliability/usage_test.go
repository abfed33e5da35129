//go:build reliability

package reliability

import (
	"os"
	"path/filepath"
	"strconv"
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
	peak  int64   // bytes, of pipetune itself
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
		k.peak, k.rss = max(k.peak, u.peak), max(k.rss, u.rss)
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
