package watch

import (
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/recording"
)

type cures struct {
	recording.Sink
	last string
}

func (c *cures) Unseen(_, _, _, cure string) { c.last = cure }

// Who is root is not told to become root.
func TestRootIsNoCureForRoot(t *testing.T) {
	const asRoot = "run pipetune as the user of the job, or as root"
	for uid, printed := range map[int]bool{0: false, 1000: true} {
		var c cures
		s := forUser(&c, uid)
		s.Unseen("x", "", "permission denied", asRoot)
		if (c.last == asRoot) != printed || !printed && !strings.Contains(c.last, "SYS_PTRACE") {
			t.Errorf("user %d: %s", uid, c.last)
		}
		if s.Unseen("x", "", "y", "raise fs.inotify.max_user_watches"); c.last != "raise fs.inotify.max_user_watches" {
			t.Errorf("user %d: %s", uid, c.last)
		}
	}
}
