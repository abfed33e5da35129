package hdf5

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/pipetune/pipetune/internal/must"
)

func TestReadSuperblock(t *testing.T) {
	for name, want := range map[string]Superblock{
		"layouts.h5":      {Version: 0},
		"layouts_v110.h5": {Version: 3},
		"userblock.h5":    {Version: 0, Offset: 512},
	} {
		raw := must.Get(os.ReadFile(filepath.Join(fixtures, name)))(t)
		want.End = int64(len(raw))
		got, err := ReadSuperblock(bytes.NewReader(raw), int64(len(raw)))
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, want)
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
		sb, err := ReadSuperblock(bytes.NewReader(raw), int64(len(raw)))
		known := err == nil || errors.Is(err, ErrNotHDF5) || errors.Is(err, ErrTruncated) || errors.Is(err, ErrNewer)
		if !known {
			t.Fatalf("an error without a name: %v", err)
		}
		if err == nil && (sb.End < 0 || sb.End > int64(len(raw)) || sb.Version < 0 || sb.Version > newestSuperblock) {
			t.Fatalf("%+v of %d bytes", sb, len(raw))
		}
	})
}
