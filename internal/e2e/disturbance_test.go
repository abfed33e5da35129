//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// userHZ is the unit of /proc's CPU times, 100 a second on every Linux of the architectures built for (man 5 proc).
const userHZ = 100

// cpuClock is a moment: how much CPU time has been used by everyone, and by a set of process groups.
type cpuClock struct {
	at     time.Time
	all    float64
	groups float64
}

// readCPU reads the clock. Ended processes of a group are counted through the parent that waited for them.
func readCPU(groups ...int) cpuClock {
	clock := cpuClock{at: time.Now()}
	stat, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(stat), "\n")
	for i, field := range strings.Fields(line) {
		if i >= 1 && i <= 8 && i != 4 && i != 5 { // user nice system - - irq softirq steal; idle and iowait are not use
			clock.all += number0(field) / userHZ
		}
	}
	processes, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range processes {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // ended meanwhile
		}
		fields := strings.Fields(string(text)[strings.LastIndexByte(string(text), ')')+1:])
		for _, group := range groups {
			if len(fields) > 14 && fields[2] == strconv.Itoa(group) {
				// utime stime cutime cstime, fields 14 to 17 of man 5 proc
				clock.groups += (number0(fields[11]) + number0(fields[12]) + number0(fields[13]) +
					number0(fields[14])) / userHZ
			}
		}
	}
	return clock
}

func number0(text string) float64 {
	x, _ := strconv.ParseFloat(text, 64)
	return x
}

// others returns how many cores were used since then by anyone but the groups and the ended command.
func (then cpuClock) others(now cpuClock, ended *exec.Cmd) float64 {
	used := (now.all - then.all) - (now.groups - then.groups)
	if ended != nil && ended.ProcessState != nil {
		used -= (ended.ProcessState.UserTime() + ended.ProcessState.SystemTime()).Seconds()
	}
	return max(0, used/now.at.Sub(then.at).Seconds())
}
