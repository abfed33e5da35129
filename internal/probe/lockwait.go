package probe

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// lookEvery is how often processes are looked at for what they wait for. A look costs some 0.2 ms a process, so a round with looks is not
// among those that are measured.
const lookEvery = 5 * time.Millisecond

// locked has the processes read one round more, and says in what share of looks one of them waited for a lock, 0..1.
func (c *crowd) locked(ctx context.Context, count int) (float64, error) {
	ended, looked := make(chan struct{}), make(chan float64)
	pids := append([]int(nil), c.pids[:count]...)
	go func() {
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		looks, waits := 0, 0
		for {
			select {
			case <-ended:
				looked <- float64(waits) / float64(max(1, looks))
				return
			case <-tick.C:
				for _, pid := range pids {
					looks++
					if waitsForLock(pid) {
						waits++
					}
				}
			}
		}
	}()
	_, err := c.round(ctx, count)
	close(ended)
	return <-looked, err
}

// waitsForLock tells whether a process waits for a lock: no thread of it runs, and one is in flock or fcntl, or sleeps in the kernel
// uninterruptibly, which without reading from storage is waiting for another process's lock on a page, an inode or the file system
// (proc_pid_stat(5), state D).
func waitsForLock(pid int) bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	if err != nil {
		return false
	}
	waits := false
	for _, thread := range threads {
		stat, err := os.ReadFile(thread + "/stat")
		if err != nil {
			continue
		}
		switch stateIn(stat) {
		case 'R':
			return false
		case 'D':
			waits = true
		case 'S':
			waits = waits || inFileLock(thread)
		}
	}
	return waits
}

// stateIn is the letter behind the name in /proc/PID/stat; the name may hold anything.
func stateIn(stat []byte) byte {
	if i := bytes.LastIndexByte(stat, ')'); i >= 0 && len(stat) > i+2 {
		return stat[i+2]
	}
	return 0
}

// inFileLock tells whether a thread that sleeps does so in flock(2) or fcntl(2); false where the kernel does not say.
func inFileLock(thread string) bool {
	text, err := os.ReadFile(thread + "/syscall")
	if err != nil {
		return false
	}
	number, _, _ := strings.Cut(string(text), " ")
	n, err := strconv.Atoi(number)
	return err == nil && (n == unix.SYS_FLOCK || n == unix.SYS_FCNTL)
}
