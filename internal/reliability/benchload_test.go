//go:build reliability

package reliability

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/must"
)

var benchLoadTrials = []trial{
	{
		id: "L5", fault: "a dataset of very many files",
		made: "`bench-io` on a terminal, of 200,000 empty files in one folder, 1,000 folders within each other, " +
			"and 1,000 names of 255 bytes; Ctrl-C during the walk",
		target: "128 MiB with all helpers, first progress within 1 s, the end within 1 s of Ctrl-C",
		run:    func(s *stand) { manyFiles(s, 200_000, 1) },
	},
	{
		id: "L5-million", fault: "a dataset of a million files", made: "as L5, of 1,000,000 empty files in 5 folders",
		long: true, target: "as L5", run: func(s *stand) { manyFiles(s, 1_000_000, 5) },
	},
}

func manyFiles(s *stand, files, folders int) {
	// a disk would take minutes to make and remove them
	root := must.Get(os.MkdirTemp("/dev/shm", "pipetune-trial-"))(s)
	s.Cleanup(func() {
		if err := os.RemoveAll(root); err != nil {
			s.Error(err)
		}
	})
	for f := range folders {
		folder := filepath.Join(root, fmt.Sprintf("f%02d", f))
		must.Do(s, os.MkdirAll(folder, 0o755))
		for i := range files / folders {
			s.touch(filepath.Join(folder, fmt.Sprintf("%07d.jpg", i)))
		}
	}
	long := filepath.Join(root, "long")
	deep := root + strings.Repeat("/d", 1000)
	must.Do(s, errors.Join(os.MkdirAll(long, 0o755), os.MkdirAll(deep, 0o755)))
	s.touch(filepath.Join(deep, "deepest.jpg"))
	for i := range 1000 {
		s.touch(filepath.Join(long, fmt.Sprintf("%0251d.jpg", i)))
	}

	args := []string{"bench-io", root, "--budget", "10s"}
	whole, screen := s.onTerminal(args)
	var most int64
	whole.meter(50*time.Millisecond, func(u usage) bool { most = max(most, u.rss); return false })
	status := whole.wait(5 * time.Minute)
	took := time.Since(screen.began)
	<-screen.ended
	first, text := screen.after, string(screen.shown)

	// Again, and ended at moments spread over the time it takes.
	var ending time.Duration
	const tries = 10
	ended := 0
	for try := range tries {
		broken, screen := s.onTerminal(args)
		select {
		case <-broken.ended:
		case <-time.After(took * time.Duration(try+1) / (tries + 2)):
		}
		must.Get(screen.master.Write([]byte{3}))(s)                    // Ctrl-C
		if status, took := broken.ending(time.Minute); status == 130 { // it may have been done just then
			ending = max(ending, took)
			ended++
		}
	}
	if ended == 0 {
		s.Fatalf("it was over before Ctrl-C came, %d times", tries)
	}

	s.measured("%d files: %.0f MiB at most with all helpers; first words after %.2f s; none of them can be read: "+
		"exit %d after %.1f s; Ctrl-C at %d moments ends it in %.2f s at most",
		files, mib(most), first.Seconds(), status, took.Seconds(), ended, ending.Seconds())
	// Progress is drawn every half a second: some machines have walked it by then.
	if status != 3 || took > time.Second && !strings.Contains(text, "files looked at") {
		s.Errorf("exit %d; it says: %.600s", status, text)
	}
	s.atMost(mib(most), 128, "%.0f MiB")
	s.atMost(first.Seconds(), 1, "first words after %.2f s")
	s.atMost(ending.Seconds(), 1, "%.2f s to end")
}

func (s *stand) touch(name string) {
	fd, err := unix.Open(name, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o644)
	if err != nil {
		s.Fatalf("making %s: %v", filepath.Base(name), err)
	}
	unix.Close(fd)
}

// screen is the terminal a program writes its progress to. What stood there is known once the program has ended.
type screen struct {
	master *os.File
	began  time.Time
	after  time.Duration // of the first bytes; 0: there were none
	shown  []byte
	ended  chan struct{}
}

// onTerminal starts pipetune with a terminal for its standard input and error.
func (s *stand) onTerminal(args []string) (*command, *screen) {
	s.Helper()
	master := must.Get(os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0))(s)
	number := must.Get(unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN))(s)
	must.Do(s, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	terminal := must.Get(os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0))(s)
	defer terminal.Close()
	w := &screen{master: master, began: time.Now(), ended: make(chan struct{})}
	c := s.pipetune(args, func(cmd *exec.Cmd) {
		cmd.Stdin, cmd.Stderr = terminal, terminal
		cmd.Env = append(cmd.Env, "TERM=xterm", "CI=")
		cmd.SysProcAttr.Setctty = true
	})
	go w.read()
	s.Cleanup(func() {
		master.Close()
		<-w.ended
	})
	return c, w
}

// read takes what is written until nobody holds the other side.
func (w *screen) read() {
	defer close(w.ended)
	buf := make([]byte, 4096)
	for {
		n, err := w.master.Read(buf)
		if n > 0 && w.after == 0 {
			w.after = time.Since(w.began)
		}
		w.shown = append(w.shown, buf[:n]...)
		if err != nil && !errors.Is(err, unix.EINTR) { // io.EOF, or EIO
			return
		}
	}
}
