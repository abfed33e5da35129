package hdf5

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/pipetune/pipetune/internal/must"
)

// Files of versions 0 and 3, and one behind a user block: whole, and a byte shorter than they say.
func TestReadSuperblock(t *testing.T) {
	for _, name := range []string{"layouts.h5", "layouts_v110.h5", "userblock.h5"} {
		raw := must.Get(os.ReadFile(filepath.Join(fixtures, name)))(t)
		if err := ReadSuperblock(bytes.NewReader(raw), int64(len(raw))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := ReadSuperblock(bytes.NewReader(raw), int64(len(raw))-1); !errors.Is(err, ErrTruncated) {
			t.Errorf("%s, cut: %v", name, err)
		}
	}
}

func FuzzReadSuperblock(f *testing.F) {
	for _, name := range []string{"layouts.h5", "layouts_v110.h5", "userblock.h5"} {
		raw := must.Get(os.ReadFile(filepath.Join(fixtures, name)))(f)
		f.Add(raw[:min(len(raw), 576)]) // enough for a superblock behind a user block of 512 bytes
	}
	f.Add([]byte{})
	f.Add(signature)
	f.Fuzz(func(t *testing.T, raw []byte) {
		err := ReadSuperblock(bytes.NewReader(raw), int64(len(raw)))
		for _, known := range []error{nil, ErrNotHDF5, ErrTruncated, ErrNewer, ErrBeingWritten} {
			if errors.Is(err, known) {
				return
			}
		}
		t.Fatalf("an error without a name: %v", err)
	})
}
