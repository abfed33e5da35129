package settings

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/pipetune/pipetune/internal/must"
)

// TestAnotherUsersHomeStopsNothing: with HOME kept and the user changed, the file of a home that may not be searched is
// as good as none.
func TestAnotherUsersHomeStopsNothing(t *testing.T) {
	home := filepath.Join(t.TempDir(), "root")
	must.Do(t, os.Mkdir(home, 0o700))
	path := filepath.Join(home, "config.toml")
	must.Do(t, os.WriteFile(path, []byte("quiet = true\n"), 0o600))
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with its goroutine, and with it what it may not reach
		if os.Geteuid() == 0 {
			if err := syscall.Setfsuid(65534); err != nil {
				done <- err
				return
			}
		} else if err := os.Chmod(home, 0); err != nil {
			done <- err
			return
		}
		f, err := Open(path)
		if f != nil {
			t.Errorf("read %+v of a home that may not be searched", f)
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Error(err)
	}
	must.Do(t, os.Chmod(home, 0o700))
}
