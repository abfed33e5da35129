package settings

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/pipetune/pipetune/internal/must"
)

func flags() *pflag.FlagSet {
	f := pflag.NewFlagSet("watch", pflag.ContinueOnError)
	f.Int("steps", 1, "")
	f.String("color", "auto", "")
	f.StringArray("output", nil, "")
	f.Bool("strict", false, "")
	f.Float64("share", 0.5, "")
	return f
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipetune.toml")
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestTheNearestSourceWins(t *testing.T) {
	file := must.Get(Open(write(t, "steps = 2\ncolor = 'never'\nshare = 0.25\n[watch]\ncolor = 'always'\noutput = "+
		"['a.md', 'b.json']\nstrict = true\n[other]\nsteps = 9\n")))(t)
	f := flags()
	must.Do(t, f.Parse([]string{"--share", "0.75"}))
	env := Environment(func(name string) string { return map[string]string{"PIPETUNE_STEPS": "3"}[name] })
	origins := must.Get(Apply("watch", f, []Source{env, file}, "strict"))(t)
	got := map[string]string{}
	f.VisitAll(func(f *pflag.Flag) { got[f.Name] = f.Value.String() + " by " + filepath.Base(origins[f.Name]) })
	want := map[string]string{
		"steps": "3 by environment variable PIPETUNE_STEPS", "color": "always by pipetune.toml: watch.color",
		"output": "[a.md,b.json] by pipetune.toml: watch.output", "strict": "false by default",
		"share": "0.75 by command line",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestARefusedValueNamesItsOrigin(t *testing.T) {
	_, err := Apply("watch", flags(),
		[]Source{Environment(func(name string) string { return map[string]string{"PIPETUNE_STEPS": "many"}[name] })})
	const want = `environment variable PIPETUNE_STEPS: --steps "many": a whole number is expected`
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

func TestUnknownSettingsAreFound(t *testing.T) {
	known := map[string][]string{"watch": {"steps", "color"}, "read": {"budget"}}
	for text, want := range map[string]string{
		"steps = 1\nbudget = 2\n": "", "step = 1": "step", "[watch]\nbudget = 1": "watch.budget",
		"[wach]\nsteps = 1": "[wach]", "": "",
	} {
		file := must.Get(Open(write(t, text)))(t)
		if got, _ := file.Unknown(known); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestFilesThatCannotBeTakenSayWhy(t *testing.T) {
	for text, want := range map[string]string{
		"a = ": "line 1: ", "a = 1\nb = [1": "line 2: ", "a = 2026-11-24": "a text, a number",
		"[a]\nb = [{c = 1}]": "a.b: a text",
	} {
		if _, err := Open(write(t, text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, err := Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "not a file") {
		t.Errorf("a folder: %v", err)
	}
	if file, err := Open(filepath.Join(t.TempDir(), "none")); file != nil || err != nil {
		t.Errorf("no file: %v, %v", file, err)
	}
	open := write(t, "a = 1")
	must.Do(t, os.Chmod(open, 0o602))
	if _, err := Open(open); !errors.Is(err, ErrForeign) {
		t.Errorf("others may write: %v", err)
	}
}

func TestPathsFollowTheBaseDirectories(t *testing.T) {
	for _, c := range []struct{ config, home, want string }{
		{"/c", "/h", "/c/pipetune/config.toml"}, {"", "/h", "/h/.config/pipetune/config.toml"},
		{"relative", "/h", "/h/.config/pipetune/config.toml"}, {"", "", ""},
	} {
		environ := map[string]string{"XDG_CONFIG_HOME": c.config, "HOME": c.home}
		got := Paths(func(name string) string { return environ[name] })
		if want := strings.Fields("pipetune.toml " + c.want); !cmp.Equal(got, want) {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// FuzzFile: whatever stands in a file, it is read or refused.
func FuzzFile(f *testing.F) {
	for _, seed := range []string{"a = 1\n[b]\nc = [true, 'x']", "[a.b]\nc = 1", "a = nan", "a = inf", "\x00",
		"[[a]]\nb = 1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		file, err := parse("f", text)
		if err != nil {
			return
		}
		name, _ := file.Unknown(map[string][]string{"watch": {"steps"}})
		_, _ = Apply("watch", flags(), []Source{file})
		if values, _ := file.value("watch", "steps"); len(values) == 0 && name == "" && len(file.tables[""]) > 0 {
			if _, there := file.tables[""]["steps"]; !there {
				t.Errorf("%q: a setting is neither known nor unknown", text)
			}
		}
	})
}

// TestAnotherUsersHomeStopsNothing: with HOME kept and another user, a file that may not be reached is none.
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
