package hook

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestFoldersOfAKilledPipetuneAreRemoved(t *testing.T) {
	parent, elsewhere := filepath.Join(short(t), "[a]*"), short(t) // no pattern, but a name
	if err := os.Mkdir(parent, 0o700); err != nil {
		t.Fatal(err)
	}
	files := []source{{name: "sitecustomize.py", data: []byte("x")}}
	make := func(parent string) *folder {
		f, err := newFolder(parent, files)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	dead, young, theirs, other := make(parent), make(parent), make(parent), make(elsewhere)
	for _, f := range []*folder{dead, theirs, other} {
		s, err := bind(f.path)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.conn.Close(); err != nil { // its name stays, as when a process is killed
			t.Fatal(err)
		}
	}
	if err := os.Chmod(theirs.path, 0o755); err != nil { // no folder of ours
		t.Fatal(err)
	}
	alive := open(t, Config{Dir: parent})
	again := open(t, Config{Dir: parent})
	for path, want := range map[string]bool{dead.path: false, young.path: true, theirs.path: true, other.path: true, alive.folder.path: true, again.folder.path: true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s: %v, want it there: %v", path, err, want)
		}
	}
	for _, f := range []*folder{dead, young, theirs, other} {
		if err := f.root.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestFoldersLeftBeforeTheirSocketWasMadeAreRemoved: old ones that hold the hook or a part of it, and nothing that is anybody else's.
func TestFoldersLeftBeforeTheirSocketWasMadeAreRemoved(t *testing.T) {
	files, err := sources()
	if err != nil {
		t.Fatal(err)
	}
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
			f, err := newFolder(parent, files)
			if err != nil {
				t.Fatal(err)
			}
			defer f.root.Close()
			dir := f.path
			if c.mangle != nil {
				for _, sub := range []string{pythonFolder, filepath.Join(pythonFolder, packageName)} {
					if err := os.Chmod(filepath.Join(dir, sub), 0o700); err != nil {
						t.Fatal(err)
					}
				}
				if err := c.mangle(dir); err != nil {
					t.Fatal(err)
				}
			}
			if c.as != "" {
				dir = filepath.Join(parent, c.as)
				if err := os.Rename(f.path, dir); err != nil {
					t.Fatal(err)
				}
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
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}
