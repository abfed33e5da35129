//go:build reliability

package reliability

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/pipetune/pipetune/internal/must"
)

// watchInto starts a short watch with two outputs.
func (s *stand) watchInto(o outputs, job *command, change ...func(*exec.Cmd)) *command {
	s.Helper()
	return s.pipetune([]string{"diagnose", "-q", "--pid", strconv.Itoa(job.pid()), "--duration", "6s", "-o",
		o.recording(), "-o", o.report()}, change...)
}

// room are the sizes that a watch of 6 s is given for its files, in units of fullDisk and fileLimit: from one that not
// even a header fits into to one that is enough.
var room = []int{1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 25, 32, 200}

// watchesWithRoom runs a watch for each size, all beside one job, and holds each to what must be.
func watchesWithRoom(s *stand, prepare func(dir string, units int) (change []func(*exec.Cmd), done func())) {
	s.Helper()
	job := steady{batches: 6000, step: 10 * time.Millisecond, workers: 2}.start(s)
	type run struct {
		outputs
		p     *command
		units int
	}
	var runs []run
	for _, units := range room {
		dir := must.Get(os.MkdirTemp(s.work, "room-"))(s)
		change, done := prepare(dir, units)
		defer done()
		o := outputs{dir}
		o.prepare(s)
		runs = append(runs, run{o, s.watchInto(o, job, change...), units})
	}
	clean, kept := 0, 0
	for _, r := range runs {
		status := r.p.wait(2 * time.Minute)
		r.p.alone()
		if r.judge(s, r.p, status) {
			clean++
		}
		partial := must.Get(filepath.Glob(filepath.Join(r.dir, ".run.jsonl.partial-*")))(s)
		kept += len(partial)
		if s.Failed() {
			s.Fatalf("with room for %d", r.units)
		}
	}
	if clean == 0 || clean == len(runs) {
		s.Errorf("%d of %d watches were clean: the sizes tell nothing", clean, len(runs))
	}
	s.measured("%d watches, %d of them without enough room: no half file, exit 2, %d recordings kept and read again",
		len(runs), len(runs)-clean, kept)
	job.kill()
	s.leftNothing()
}

func fullDisk(s *stand) {
	watchesWithRoom(s, func(dir string, pages int) ([]func(*exec.Cmd), func()) {
		// Two pages hold the old files.
		must.Do(s, syscall.Mount("tiny", dir, "tmpfs", 0, "size="+strconv.Itoa((pages+2)*os.Getpagesize())))
		return nil, func() {
			if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
				s.Error(err)
			}
		}
	})
}

func fileLimit(s *stand) {
	const unit = 2048
	watchesWithRoom(s, func(_ string, units int) ([]func(*exec.Cmd), func()) {
		return []func(*exec.Cmd){func(cmd *exec.Cmd) {
			cmd.Args = append([]string{"/usr/bin/prlimit", fmt.Sprintf("--fsize=%d", units*unit)},
				append([]string{cmd.Path}, cmd.Args[1:]...)...)
			cmd.Path = cmd.Args[0]
			// the limit is not about them
			cmd.Stdout, cmd.Stderr = s.pipeTo(cmd.Stdout.(*os.File)), s.pipeTo(cmd.Stderr.(*os.File))
		}}, func() {}
	})
}

// pipeTo returns a pipe whose other end is copied into a file: a file limit does not bind a pipe.
func (s *stand) pipeTo(file *os.File) *os.File {
	s.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		s.Fatal(err)
	}
	into := must.Get(os.OpenFile(file.Name(), os.O_WRONLY|os.O_APPEND, 0))(s)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = into.ReadFrom(r) // what is missing shows in what was expected of it
		into.Close()
		r.Close()
	}()
	s.Cleanup(func() {
		w.Close()
		<-done
	})
	return w
}
