package hook

import (
	"strings"
	"testing"
)

// TestTryLeavesNothing: it names the folder it was in, and what it cannot use it passes over.
func TestTryLeavesNothing(t *testing.T) {
	dir := short(t)
	t.Setenv("XDG_RUNTIME_DIR", "")
	t.Setenv("TMPDIR", dir)
	parent, err := Try()
	if err != nil || parent != dir {
		t.Errorf("%q, %v; want %s", parent, err, dir)
	}
	if left := entries(t, dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	t.Setenv("TMPDIR", dir+strings.Repeat("/long", 20))
	if parent, err := Try(); err != nil || parent != "/tmp" {
		t.Errorf("%q, %v; want /tmp", parent, err)
	}
}
