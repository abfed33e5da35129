package probe

import (
	"errors"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
)

// A job that appends to its file by short opens for writing takes an exclusive lock each time, and must never be
// refused one: neither because h5py locks what it reads, as it does unless told not to, nor because the person's
// environment asks for locks.
func TestPythonTakesNoFileLock(t *testing.T) {
	t.Setenv("HDF5_USE_FILE_LOCKING", "TRUE")
	sample, layout := surveyedHDF5(t, "gzip", "a.h5")
	f := must.Get(os.Open(string(sample.Files[0].Path)))(t)
	defer f.Close()
	s := pythonSession(t, []string{realPython(t)}, sample, 2*time.Second)
	s.options.Layout = layout
	ended := make(chan error, 1)
	go func() { ended <- timePython(t.Context(), s) }()
	tries, refused := 0, 0
	for {
		select {
		case err := <-ended:
			must.Do(t, err)
			onlyOne(t, s, metric.ItemTime, "decoder=h5py", "handle=kept")
			if refused > 0 {
				t.Errorf("%d of %d attempts to lock the file for writing were refused", refused, tries)
			}
			return
		case <-time.After(5 * time.Millisecond):
		}
		tries++
		switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
		case errors.Is(err, unix.EWOULDBLOCK):
			refused++
		case err != nil:
			t.Fatal(err)
		default:
			_ = unix.Flock(int(f.Fd()), unix.LOCK_UN)
		}
	}
}
