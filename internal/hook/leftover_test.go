package hook

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/must"
)

func TestFoldersOfAKilledPipetuneAreRemoved(t *testing.T) {
	parent, elsewhere := filepath.Join(short(t), "[a]*"), short(t) // no pattern, but a name
	must.Do(t, os.Mkdir(parent, 0o700))
	files := []source{{name: "sitecustomize.py", data: []byte("x")}}
	make := func(parent string) *folder { return must.Get(newFolder(parent, files))(t) }
	dead, young, theirs, other := make(parent), make(parent), make(parent), make(elsewhere)
	for _, f := range []*folder{dead, theirs, other} {
		s := must.Get(bind(f.path))(t)
		must.Do(t, s.conn.Close()) // its name stays, as when a process is killed
	}
	must.Do(t, os.Chmod(theirs.path, 0o755)) // no folder of ours
	alive := openIn(t, parent)
	again := openIn(t, parent)
	for path, want := range map[string]bool{dead.path: false, young.path: true, theirs.path: true, other.path: true,
		alive.folder.path: true, again.folder.path: true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s: %v, want it there: %v", path, err, want)
		}
	}
	for _, f := range []*folder{dead, young, theirs, other} {
		must.Do(t, f.root.Close())
	}
}

// TestFoldersLeftBeforeTheirSocketWasMadeAreRemoved: old ones with the hook or a part of it, and nobody else's.
func TestFoldersLeftBeforeTheirSocketWasMadeAreRemoved(t *testing.T) {
	files := must.Get(sources(true))(t)
	later := time.Now().Add(2 * abandoned)
	for name, c := range map[string]struct {
		mangle func(dir string) error // of a whole one
		as     string                 // the folder's name; "": as os.MkdirTemp made it
		now    time.Time
		left   bool
	}{
		"whole":     {now: later},
		"just made": {now: time.Now(), left: true},
		"empty": {now: later, mangle: func(dir string) error {
			return (&folder{path: dir, root: rootOf(t, dir)}).empty()
		}},
		"without a package": {now: later, mangle: func(dir string) error {
			return os.RemoveAll(filepath.Join(dir, pythonFolder, packageName))
		}},
		"with a file of theirs": {now: later, left: true, mangle: func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "notes"), nil, 0o600)
		}},
		"with a file of theirs below": {now: later, left: true, mangle: func(dir string) error {
			return os.WriteFile(filepath.Join(dir, pythonFolder, "train.py"), nil, 0o600)
		}},
		"with a folder of theirs": {now: later, left: true, mangle: func(dir string) error {
			return os.Mkdir(filepath.Join(dir, pythonFolder, packageName, "x.py"), 0o700)
		}},
		"with a link": {now: later, left: true, mangle: func(dir string) error {
			return os.Symlink("/etc/passwd", filepath.Join(dir, pythonFolder, packageName, "x.py"))
		}},
		"another's mode": {now: later, left: true, mangle: func(dir string) error { return os.Chmod(dir, 0o755) }},
		"another's name": {now: later, left: true, as: "pipetune-runs"},
	} {
		t.Run(name, func(t *testing.T) {
			parent := short(t)
			f := must.Get(newFolder(parent, files))(t)
			defer f.root.Close()
			dir := f.path
			if c.mangle != nil {
				for _, sub := range []string{pythonFolder, filepath.Join(pythonFolder, packageName)} {
					must.Do(t, os.Chmod(filepath.Join(dir, sub), 0o700))
				}
				must.Do(t, c.mangle(dir))
			}
			if c.as != "" {
				dir = filepath.Join(parent, c.as)
				must.Do(t, os.Rename(f.path, dir))
			}
			tidy(parent, os.Geteuid(), c.now)
			if _, err := os.Stat(dir); (err == nil) != c.left {
				t.Errorf("%v, want it there: %v", err, c.left)
			}
		})
	}
}

func rootOf(t *testing.T, dir string) *os.Root {
	t.Helper()
	root := must.Get(os.OpenRoot(dir))(t)
	t.Cleanup(func() { root.Close() })
	return root
}
