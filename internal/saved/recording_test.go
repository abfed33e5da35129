package saved

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestRecordingOnAFullDisk: whole lines until the disk was full are kept under the temporary name, and the error names
// it.
func TestRecordingOnAFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.jsonl")
	r, err := CreateRecording(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Write([]byte("{\"a\":1}\n")); err != nil {
		t.Fatal(err)
	}
	var limit, narrow unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	narrow = limit
	narrow.Cur = 12 // bytes: the next line is torn after its fourth
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &narrow); err != nil {
		t.Fatal(err)
	}
	_, err = r.Write([]byte("{\"b\":2}\n"))
	if err == nil {
		_, err = r.Write([]byte("{\"c\":3}\n"))
	}
	if restore := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); restore != nil {
		t.Fatal(restore)
	}
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
