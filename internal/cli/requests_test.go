package cli

import (
	"os"
	"syscall"
	"testing"
)

// TestSecondRequest: what timeout sends its child's group is none, and Ctrl-C after it is one.
func TestSecondRequest(t *testing.T) {
	signals := make(chan os.Signal, 2)
	signals <- syscall.SIGTERM
	signals <- syscall.SIGINT
	if got := secondRequest(signals, syscall.SIGTERM, nil); got != syscall.SIGINT {
		t.Errorf("%s counts as the second request", got)
	}
}
