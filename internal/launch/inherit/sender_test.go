package inherit

import (
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/must"
)

// TestFromKernel has the kernel's timer send a signal, as it does Ctrl-C's, and a process another before anybody asks.
func TestFromKernel(t *testing.T) {
	const s = syscall.SIGVTALRM
	c := make(chan os.Signal, 1)
	signal.Notify(c, s)
	defer signal.Stop(c)
	WatchSender(s)
	kill := func() {
		must.Do(t, syscall.Kill(os.Getpid(), s))
		<-c
	}
	kill()
	if FromKernel(s) {
		t.Error("kill is a process")
	}
	if _, err := unix.Setitimer(unix.ItimerVirtual, unix.Itimerval{Value: unix.Timeval{Usec: 1000}}); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); len(c) == 0 && time.Now().Before(deadline); {
		// the timer counts what is computed
	}
	<-c
	kill()
	if !FromKernel(s) {
		t.Error("the process's signal hid the kernel's")
	}
	if FromKernel(s) {
		t.Error("the kernel's was told twice")
	}
	if !FromKernel(syscall.SIGPWR) {
		t.Error("of what is not watched the sender is not known")
	}
}
