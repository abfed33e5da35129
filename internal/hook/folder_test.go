package hook

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/must"
)

// short is a folder with a path short enough for a socket, which t.TempDir's need not be.
func short(t testing.TB) string {
	t.Helper()
	dir := must.Get(os.MkdirTemp("/tmp", "hook-test-*"))(t)
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func open(t testing.TB, c Config) *Receiver {
	t.Helper()
	if c.Identify == nil {
		c.Identify = func(int) (string, bool) { return "process/7.70", true }
	}
	r := must.Get(New(c))(t)
	t.Cleanup(r.Close)
	return r
}

// openIn does so with the private folder in a folder of the test's.
func openIn(t testing.TB, parent string) *Receiver {
	t.Helper()
	t.Setenv("XDG_RUNTIME_DIR", "")
	t.Setenv("TMPDIR", parent)
	return open(t, Config{})
}

// entries lists what is in a folder.
func entries(t *testing.T, dir string) []string {
	t.Helper()
	list := must.Get(os.ReadDir(dir))(t)
	names := []string{}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

// TestTheFolderIsPrivateAndGoes: with the Python that acts on a job in it, and without.
func TestTheFolderIsPrivateAndGoes(t *testing.T) {
	for _, acts := range []bool{false, true} {
		parent := short(t)
		t.Setenv("XDG_RUNTIME_DIR", "")
		t.Setenv("TMPDIR", parent)
		r := open(t, Config{Acts: acts})
		must.Do(t, filepath.WalkDir(r.folder.path, func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			want := fs.FileMode(0o400)
			switch {
			case name == r.folder.path:
				want = 0o700
			case d.IsDir():
				want = 0o500
			case d.Type()&fs.ModeSocket != 0:
				want = 0o600
			}
			if info.Mode().Perm() != want {
				t.Errorf("%s has mode %o, want %o", name, info.Mode().Perm(), want)
			}
			return nil
		}))
		list := must.Get(sources(acts))(t)
		for _, s := range list {
			got, err := os.ReadFile(filepath.Join(r.folder.path, pythonFolder, s.name))
			if err != nil || string(got) != string(s.data) {
				t.Errorf("%s: %v, %d bytes, want %d", s.name, err, len(got), len(s.data))
			}
		}
		if len(list) < 2 || !strings.HasPrefix(list[len(list)-1].name, "sitecustomize") || len(Digest()) != 64 {
			t.Errorf("embedded: %d files, digest %q", len(list), Digest())
		}
		r.Close()
		r.Close()
		if left := entries(t, parent); len(left) != 0 || r.State().Err != nil {
			t.Errorf("left behind: %v, error %v", left, r.State().Err)
		}
	}
}

// TestWhereOthersWriteTheFolderHasAShelter: nobody can take the place of one that is gone, nor offer one to begin with.
func TestWhereOthersWriteTheFolderHasAShelter(t *testing.T) {
	parent := short(t)
	must.Do(t, os.Chmod(parent, 0o777|fs.ModeSticky))
	r := openIn(t, parent)
	own := filepath.Dir(r.folder.path)
	if filepath.Dir(own) != parent {
		t.Fatalf("the private folder is %s", r.folder.path)
	}
	r.Close()
	if info, err := os.Lstat(own); err != nil || info.Mode() != 0o700|fs.ModeDir || len(entries(t, own)) != 0 {
		t.Errorf("afterwards: %v, %v", info, err)
	}
	again := openIn(t, parent)
	if filepath.Dir(again.folder.path) != own {
		t.Errorf("the next one is %s", again.folder.path)
	}
	must.Do(t, os.Chmod(own, 0o755))
	if got, err := shelter(parent, os.Geteuid()); err == nil {
		t.Errorf("%s was taken, which others may enter", got)
	}
}

func TestRemovalFollowsNoLinks(t *testing.T) {
	parent, kept := short(t), short(t)
	must.Do(t, os.WriteFile(filepath.Join(kept, "precious"), []byte("x"), 0o600))
	must.Do(t, os.Chmod(kept, 0o500))
	r := openIn(t, parent)
	python := filepath.Join(r.folder.path, pythonFolder)
	must.Do(t, os.Rename(python, filepath.Join(r.folder.path, "elsewhere")))
	for _, link := range []string{python, filepath.Join(r.folder.path, "other")} {
		must.Do(t, os.Symlink(kept, link))
	}
	r.Close()
	info, err := os.Stat(kept)
	if err != nil || info.Mode().Perm() != 0o500 {
		t.Errorf("the folder that a link pointed to: %v, %v", info.Mode(), err)
	}
	if got := entries(t, kept); !cmp.Equal(got, []string{"precious"}) {
		t.Errorf("it holds %v", got)
	}
	if left := entries(t, parent); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestAFolderPutInPlaceOfOursIsLeftAlone(t *testing.T) {
	parent := short(t)
	r := openIn(t, parent)
	must.Do(t, os.Rename(r.folder.path, r.folder.path+"-moved"))
	must.Do(t, os.Mkdir(r.folder.path, 0o700))
	name := filepath.Join(r.folder.path, "theirs")
	must.Do(t, os.WriteFile(name, nil, 0o600))
	r.Close()
	if _, err := os.Stat(name); err != nil {
		t.Error(err)
	}
	if got := entries(t, r.folder.path+"-moved"); len(got) != 0 {
		t.Errorf("ours still holds %v", got)
	}
}

func TestWhereTheFolderIsMade(t *testing.T) {
	own, loose, sticky := short(t), short(t), short(t)
	nested := filepath.Join(loose, "nested")
	must.Do(t, os.Mkdir(nested, 0o700))
	for dir, mode := range map[string]fs.FileMode{loose: 0o777, sticky: 0o777 | fs.ModeSticky} {
		must.Do(t, os.Chmod(dir, mode))
	}
	euid := os.Geteuid()
	for name, c := range map[string]struct {
		runtime, tmp string
		euid         int
		want         []string
	}{
		"nothing set":                               {want: []string{"/tmp"}},
		"the runtime folder first":                  {runtime: own, tmp: sticky, want: []string{own, sticky, "/tmp"}},
		"somebody else's runtime folder":            {runtime: own, euid: euid + 1, want: []string{"/tmp"}},
		"a runtime folder that is not there":        {runtime: own + "/none", tmp: own, want: []string{own, "/tmp"}},
		"relative":                                  {runtime: "run", tmp: "tmp", want: []string{"/tmp"}},
		"others may rename what is in it":           {runtime: loose, tmp: loose, want: []string{"/tmp"}},
		"others may rename a folder above":          {tmp: nested, want: []string{"/tmp"}},
		"others may write to it but rename nothing": {tmp: sticky, want: []string{sticky, "/tmp"}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.euid == 0 {
				c.euid = euid
			}
			env := map[string]string{"XDG_RUNTIME_DIR": c.runtime, "TMPDIR": c.tmp}
			if got := parents(func(name string) string { return env[name] }, c.euid); !cmp.Equal(got, c.want) {
				t.Errorf("parents %v, want %v", got, c.want)
			}
		})
	}
}

// TestParentsThatArePassedOver: one whose socket would have too long a path, and one that PYTHONPATH would split: what
// stands before its colon would be taken for a folder, and so would what follows.
func TestParentsThatArePassedOver(t *testing.T) {
	long, split := filepath.Join(short(t), strings.Repeat("x", 90)), filepath.Join(short(t), "a:b c")
	for parent, parts := range map[string][]string{long: {"TMPDIR", "107", "/nowhere"},
		split: {split, "PYTHONPATH", "':'", "TMPDIR"}} {
		must.Do(t, os.Mkdir(parent, 0o700))
		if r := openIn(t, parent); filepath.Dir(filepath.Dir(r.folder.path)) != "/tmp" {
			t.Errorf("the folder is %s", r.folder.path)
		}
		_, err := makeFolder([]string{parent, "/nowhere"}, nil)
		if err == nil {
			t.Fatal("a folder was made")
		}
		for _, part := range parts {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("the error does not say %q: %v", part, err)
			}
		}
	}
}

func TestEnviron(t *testing.T) {
	r := open(t, Config{})
	python, socket := filepath.Join(r.folder.path, pythonFolder), filepath.Join(r.folder.path, "socket")
	for name, c := range map[string]struct{ env, want []string }{
		"nothing": {nil, []string{"PYTHONPATH=" + python}},
		"empty":   {[]string{"PYTHONPATH="}, []string{"PYTHONPATH=" + python}},
		"a path of theirs": {[]string{"A=b=c", "PYTHONPATH=/a::/b:", "Z="}, []string{"A=b=c", "Z=", "PYTHONPATH=" +
			python + ":/a::/b:"}},
		"ours is replaced": {[]string{EnvSocket + "=/old", EnvToken + "=old", EnvSyncPoints + "=1"},
			[]string{"PYTHONPATH=" + python}},
		"twice": {[]string{"PYTHONPATH=/first", "PYTHONPATH=/second"}, []string{"PYTHONPATH=" + python + ":/first"}},
	} {
		t.Run(name, func(t *testing.T) {
			want := append(c.want, EnvSocket+"="+socket, EnvToken+"="+r.token)
			if diff := cmp.Diff(want, r.Environ(c.env)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if env := open(t, Config{SyncPoints: true}).Environ(nil); env[0] != EnvSyncPoints+"=1" {
		t.Errorf("with sync points: %q", env)
	}
}

// TestTryLeavesNothing: it names the folder it was in, and what it cannot use it passes over.
func TestTryLeavesNothing(t *testing.T) {
	dir := short(t)
	t.Setenv("XDG_RUNTIME_DIR", "")
	t.Setenv("TMPDIR", dir)
	parent, err := Try()
	if err != nil || parent != dir {
		t.Errorf("%q, %v; want %s", parent, err, dir)
	}
	if left := entries(t, dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	t.Setenv("TMPDIR", dir+strings.Repeat("/long", 20))
	if parent, err := Try(); err != nil || parent != "/tmp" {
		t.Errorf("%q, %v; want /tmp", parent, err)
	}
}
