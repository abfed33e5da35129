// Package fakeroot makes up a machine's /proc and /sys for tests: file by file,
// or from one text archive. The archives lie in testdata/proc; capture.py there
// makes one of a real machine.
//
// Their format is txtar: a line "-- path --" begins a file, and what follows up to
// the next such line is its content. "-- path -> target --" is a symbolic link
// and "-- path/ --" an empty folder. In files named cmdline and environ each
// newline stands for a NUL. Archives are used instead of folders because names
// such as 254:0 and symbolic links cannot be part of a Go module.
package fakeroot

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/pipetune/pipetune/internal/must"
)

// Root is the root folder of a made-up machine.
type Root struct {
	Dir string
	t   testing.TB
}

// New returns an empty machine, which ends with the test.
func New(t testing.TB) Root { return Root{t.TempDir(), t} }

// Machine returns a machine of testdata/proc. The test's package lies right below internal.
func Machine(t testing.TB, name string) Root {
	t.Helper()
	r := New(t)
	must.Do(t, Unpack(must.Get(os.ReadFile("../../testdata/proc/"+name+".txtar"))(t), r.Dir))
	return r
}

// Put writes a file below the root, with its folders. Its inode stays, as a reader with an open descriptor would see
// new content in the real /proc.
func (r Root) Put(name, text string) {
	r.t.Helper()
	path := filepath.Join(r.Dir, name)
	must.Do(r.t, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Do(r.t, os.WriteFile(path, []byte(text), 0o644))
}

// Link makes a symbolic link below the root, or takes it away where the target is "".
func (r Root) Link(name, target string) {
	r.t.Helper()
	path := filepath.Join(r.Dir, name)
	must.Do(r.t, os.MkdirAll(filepath.Dir(path), 0o755))
	_ = os.Remove(path) // may not be there yet
	if target != "" {
		must.Do(r.t, os.Symlink(target, path))
	}
}

// Remove takes a file or a folder away.
func (r Root) Remove(name string) {
	r.t.Helper()
	must.Do(r.t, os.RemoveAll(filepath.Join(r.Dir, name)))
}

// Unpack lays the archive out below dir. Paths that lead out of dir are refused.
func Unpack(archive []byte, dir string) error {
	for _, file := range txtar.Parse(archive).Files {
		if err := write(dir, file.Name, file.Data); err != nil {
			return err
		}
	}
	return nil
}

func write(dir, name string, content []byte) error {
	name, target, isLink := strings.Cut(name, " -> ")
	if !filepath.IsLocal(name) {
		return fmt.Errorf("unpacking %q: the path leads out of the root", name)
	}
	path := filepath.Join(dir, name)
	if strings.HasSuffix(name, "/") {
		return os.MkdirAll(path, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if isLink {
		return os.Symlink(target, path)
	}
	if base := filepath.Base(path); base == "cmdline" || base == "environ" {
		content = bytes.ReplaceAll(content, []byte{'\n'}, []byte{0})
	}
	return os.WriteFile(path, content, 0o644)
}
