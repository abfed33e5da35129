package saved

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/must"
)

// TestRecordingOnAFullDisk: whole lines until the disk was full are kept under the temporary name, and the error names
// it.
func TestRecordingOnAFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.jsonl")
	r := must.Get(CreateRecording(path))(t)
	must.Get(r.Write([]byte("{\"a\":1}\n")))(t)
	var limit unix.Rlimit
	must.Do(t, unix.Getrlimit(unix.RLIMIT_FSIZE, &limit))
	narrow := limit
	narrow.Cur = 12 // bytes: the next line is torn after its fourth
	must.Do(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &narrow))
	_, err := r.Write([]byte("{\"b\":2}\n"))
	if err == nil {
		_, err = r.Write([]byte("{\"c\":3}\n"))
	}
	must.Do(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &limit))
	if err == nil {
		t.Fatal("no error although the file may not grow")
	}
	kept := r.draft.Name()
	err = r.Finish()
	var said *KeptError
	if !errors.As(err, &said) || said.Kept != kept || !errors.Is(err, unix.EFBIG) {
		t.Errorf("got %v", err)
	}
	if b, err := os.ReadFile(kept); err != nil || string(b) != "{\"a\":1}\n" {
		t.Errorf("kept %q, %v", b, err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the recording has its name although it is not whole: %v", err)
	}
}
