package inherit

import (
	"os"
	"os/signal"
	"syscall"
	"testing"
)

func TestFromProcess(t *testing.T) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGQUIT)
	defer signal.Stop(c)
	WatchSender(syscall.SIGQUIT)
	if FromProcess(syscall.SIGQUIT) {
		t.Error("none was sent yet")
	}
	for range 2 { // the second one still finds both handlers
		if err := syscall.Kill(os.Getpid(), syscall.SIGQUIT); err != nil {
			t.Fatal(err)
		}
		<-c
		if !FromProcess(syscall.SIGQUIT) {
			t.Error("kill is a process")
		}
	}
}
