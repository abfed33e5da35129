package probe

import (
	"context"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/procfs"
)

// pollEvery is how often processes are looked at for what they wait for. A look costs some 0.2 ms a process, so a round
// with looks is not among those that are measured.
const pollEvery = 5 * time.Millisecond

// locked has the processes read one round more, and says in what share of looks one of them waited for a lock, 0..1.
func (c *workerGroup) locked(ctx context.Context, count int) (float64, error) {
	var pids []int
	for _, p := range c.processes[:count] {
		pids = append(pids, p.pid)
	}
	ended := make(chan error)
	go func() {
		_, err := c.round(ctx, count)
		ended <- err
	}()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for looks, waits := 0, 0; ; {
		select {
		case err := <-ended:
			return float64(waits) / float64(max(1, looks)), err
		case <-tick.C:
			for _, pid := range pids {
				looks++
				if waitsForLock(pid) {
					waits++
				}
			}
		}
	}
}

// waitsForLock reports whether a process waits for a lock: no thread of it runs, and one is in flock or fcntl, or
// sleeps in the kernel uninterruptibly, which without reading from storage is waiting for another process's lock on a
// page, an inode or the file system (proc_pid_stat(5), state D).
func waitsForLock(pid int) (waits bool) {
	p, err := procfs.FS{}.Open(pid)
	if err != nil {
		return false
	}
	defer p.Close()
	threads, _ := p.Threads(nil) // none where it has ended
	for _, tid := range threads {
		task, err := p.Task(tid)
		if err != nil {
			continue
		}
		var stat procfs.Stat
		var call procfs.Syscall
		if task.Stat(&stat) != nil || stat.State == 'S' && task.Syscall(&call) != nil {
			call.Number = -1 // the kernel does not say
		}
		task.Close()
		switch stat.State {
		case 'R':
			return false
		case 'D':
			waits = true
		case 'S':
			waits = waits || call.Number == unix.SYS_FLOCK || call.Number == unix.SYS_FCNTL
		}
	}
	return waits
}
