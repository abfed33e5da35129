package launch

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/launch/inherit"
)

// Signals that a launched job may be sent by way of pipetune, and whether they ask it to end.
var passedOn = map[os.Signal]bool{
	syscall.SIGTERM: true, syscall.SIGINT: true, syscall.SIGQUIT: true, syscall.SIGHUP: true,
	syscall.SIGUSR1: false, syscall.SIGUSR2: false, syscall.SIGCONT: false, syscall.SIGWINCH: false,
}

// byTerminal are the signals that a terminal sends to its foreground process group: the job, being in pipetune's
// group, has them already.
var byTerminal = map[os.Signal]bool{syscall.SIGINT: true, syscall.SIGQUIT: true, syscall.SIGWINCH: true}

// Signals begins to take the signals that are passed on. What was ignored when pipetune was started (nohup; a
// background command of a shell without job control; SIGPIPE under systemd) stays ignored, here and in the job. A
// write to a closed pipe becomes an error: the job's status is still owed.
func Signals() (<-chan os.Signal, func()) {
	inherit.Restore()
	c := make(chan os.Signal, 16)
	for s := range passedOn {
		if !signal.Ignored(s) {
			signal.Notify(c, s)
			if byTerminal[s] {
				inherit.WatchSender(s.(syscall.Signal))
			}
		}
	}
	pipe := make(chan os.Signal, 1)
	if !signal.Ignored(syscall.SIGPIPE) {
		signal.Notify(pipe, syscall.SIGPIPE)
	}
	return c, func() {
		signal.Stop(c)
		signal.Stop(pipe)
	}
}

// terminal is the terminal that pipetune was started on.
type terminal struct {
	had bool // there was one
	// pipetune is the session's leader: nobody but the kernel tells it of a hang-up, and it tells the leader alone
	leader bool
	// foreground says whether pipetune's process group is the one that the terminal sends its signals to; there is
	// false where there is no terminal any more.
	foreground func() (yes, there bool)
	// fromKernel says whether the kernel has sent a signal since it was last asked; true too where that is not known.
	fromKernel func(os.Signal) bool
}

func controllingTerminal() terminal {
	_, had := inForeground()
	session, err := unix.Getsid(0)
	return terminal{had: had, leader: err == nil && session == unix.Getpid(), foreground: inForeground,
		fromKernel: func(s os.Signal) bool { return inherit.FromKernel(s.(syscall.Signal)) }}
}

// inForeground asks the controlling terminal for its foreground process group.
func inForeground() (yes, there bool) {
	fd, err := unix.Open("/dev/tty", unix.O_RDONLY|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return false, false
	}
	defer unix.Close(fd)
	group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp(), err == nil
}

// hasReceived says whether the job has a signal already, because it went to the whole group. The kernel does not tell a
// program whether a signal came to it alone, so this is what can be known: Ctrl-C, Ctrl-\ and a change of size, which
// the kernel sends, go to the group in the foreground; a shell's fg and bg continue the group; when the terminal is
// gone, the shell or the kernel sends the hang-up, and a continue with it, to the groups of the session. What a
// process sends with kill is taken to have come to pipetune alone: what is left is that a kill of the whole group
// reaches the job twice.
func (t terminal) hasReceived(s os.Signal) bool {
	if !t.had {
		return false
	}
	sent := byTerminal[s] && t.fromKernel(s)
	yes, there := t.foreground()
	if !there {
		return !t.leader && (s == syscall.SIGHUP || s == syscall.SIGCONT)
	}
	return s == syscall.SIGCONT || yes && sent
}

// relay passes signals on to the job until done is closed. The first that asks to end closes over, a second one hurry.
func relay(signals <-chan os.Signal, t terminal, pass func(os.Signal), over, hurry, done chan struct{}) {
	var r Requests
	for {
		select {
		case <-done:
			return
		case s := <-signals:
			first, asked := r.Take(s, time.Now())
			if hasReceived := t.hasReceived(s); first && !hasReceived {
				// asked of each, so that what the kernel sent is not taken for a later one
				pass(s)
			}
			switch asked {
			case 1:
				close(over)
			case 2:
				close(hurry)
			}
		}
	}
}

// How the same signal coming again is taken. timeout signals its child, and then its child's whole group: what was
// sent once comes twice.
const (
	// sameSending is within what a signal that comes again was sent by whoever sent it before: it is passed on once.
	sameSending = 100 * time.Millisecond
	// sameRequest is within what it is no second request: nobody who asks again has read yet what came of the first.
	sameRequest = time.Second
)

// Requests judges signals by when they came. The zero value: none has come.
type Requests struct {
	passed, counted map[os.Signal]time.Time // when the last one came that was passed on, and that was counted
	asked           int                     // how many asked the job to end
}

// Take judges a signal that has come: whether it is to be passed on, and how many requests to end have come with it;
// 0 where it is none, or the same request as one before.
func (r *Requests) Take(s os.Signal, at time.Time) (pass bool, asked int) {
	if r.passed == nil {
		r.passed, r.counted = map[os.Signal]time.Time{}, map[os.Signal]time.Time{}
	}
	if last, came := r.passed[s]; !came || at.Sub(last) >= sameSending {
		r.passed[s] = at
		pass = true
	}
	if last, came := r.counted[s]; passedOn[s] && (!came || at.Sub(last) >= sameRequest) {
		r.counted[s] = at
		r.asked++
		asked = r.asked
	}
	return pass, asked
}
