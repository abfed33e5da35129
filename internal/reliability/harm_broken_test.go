//go:build reliability

package reliability

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/pkg/report"
)

var brokenTrials = []trial{
	{
		id: "H9", fault: "the hook is broken in the job",
		made: "16 ways: its files, its socket, its token or its functions are spoilt by the shell that becomes the " +
			"job",
		target: "stdout, stderr and status as bare in all of them; the report says that the hook reported nothing, " +
			"or less",
		run: brokenHook,
	},
	{
		id: "H9-folder", fault: "the hook cannot be laid out",
		made: "XDG_RUNTIME_DIR and TMPDIR: missing, full (tmpfs of 4 KiB), read-only, a file, with a path too long " +
			"for a socket",
		target: "as H9", run: brokenFolder,
	},
}

// breakage is one way. H is the folder of the hook's package, D that of PYTHONPATH.
type breakage struct{ name, shell string }

var breakages = []breakage{
	{"syntax error", `echo 'def' >> $H/__init__.py`},
	{"import of what is not there", `echo 'import no_such_module_at_all' > $H/state.py`},
	{"a file is missing", `rm -f $H/trainer.py`},
	{"raises at import", `echo 'raise RuntimeError("spoilt")' >> $H/loop.py`},
	{"its folder is gone", `rm -rf $D`},
	{"its package is gone", `rm -rf $H`},
	{"its files are empty", `for f in $H/*.py; do : > $f; done`},
	{"its files are binary", `head -c 4096 /dev/urandom > $H/work.py`},
	{"socket is gone", `rm -f $PIPETUNE_HOOK_SOCKET`},
	{"socket is a file", `rm -f $PIPETUNE_HOOK_SOCKET; echo x > $PIPETUNE_HOOK_SOCKET`},
	{"socket is a pipe", `rm -f $PIPETUNE_HOOK_SOCKET; mkfifo $PIPETUNE_HOOK_SOCKET`},
	{"socket is not named", `unset PIPETUNE_HOOK_SOCKET`},
	{"token is wrong", `PIPETUNE_HOOK_TOKEN=wrong; export PIPETUNE_HOOK_TOKEN`},
	{"another version", `sed -i 's/^VERSION = 1/VERSION = 99/' $H/wire.py`},
	{"fails while telling", `printf '\ndef pending(now):\n    raise RuntimeError("spoilt")\n' >> $H/state.py`},
	{"fails at each batch", `printf '\ndef clock():\n    raise OSError("spoilt")\n' >> $H/loop.py`},
}

// brokenHook runs the same job bare and with each breakage.
func brokenHook(s *stand) {
	// Long enough to be attached to also where the hook is silent.
	j := steady{batches: 120, epoch: 120, workers: 2, step: 50 * time.Millisecond}
	bare := s.start("bare", j.argv(s))
	bare.wait(10 * time.Minute)
	report := s.in("report.json")
	unharmed, told := 0, 0
	for _, b := range breakages {
		line := `D=${PYTHONPATH%%:*}; H=$D/pipetune_hook; test -d "$H" || exit 99; chmod -R u+w "$D"; ` + b.shell +
			`; exec "$@"`
		c := s.launch(report, append([]string{"/bin/sh", "-c", line, "sh"}, j.argv(s)...))
		if s.same(b.name, bare, c) {
			unharmed++
		}
		if _, err := os.Stat(report); err != nil {
			s.Errorf("%s: no report of a job that trained for %v and more: %.600s", b.name,
				time.Duration(j.batches)*j.step, c.complaints())
			continue
		}
		if s.hookTold(b.name, report) {
			told++
		}
		must.Do(s, os.Remove(report))
	}
	s.measured("%d of %d jobs unharmed; %d of %d reports say what was lost", unharmed, len(breakages), told,
		len(breakages))
}

// hookTold says whether the report speaks of the hook; it fails the trial where it does not.
func (s *stand) hookTold(name, path string) bool {
	s.Helper()
	r := s.report(path)
	told := strings.Contains(said(r), "hook")
	if !told {
		s.Errorf("%s: the report does not speak of the hook (the loader's source is it: %t): %.1500s", name, heard(r),
			said(r))
	}
	return told
}

// heard says whether a report's loader is the hook's.
func heard(r *report.Report) bool {
	return r.Job != nil && r.Job.Loader != nil && r.Job.Loader.Source == "hook"
}

// brokenFolder runs the job where the hook's folder or socket cannot be made.
func brokenFolder(s *stand) {
	// Long enough for what the hook reports to be used.
	j := steady{batches: 300, epoch: 300, workers: 2, step: 5 * time.Millisecond}
	full, frozen := s.folder("full"), s.folder("readonly")
	s.tmpfs(full, 0, "size=4k")
	s.tmpfs(frozen, syscall.MS_RDONLY, "")
	s.write(s.in("file"), "")
	folders := map[string]string{
		"missing": s.in("nowhere"), "full": full, "read-only": frozen,
		"a file": s.in("file"), "too long": s.folder(strings.Repeat("a", 120)),
	}
	bare := s.start("bare", j.argv(s))
	unharmed, elsewhere, told := 0, 0, 0
	for name, dir := range folders {
		report := filepath.Join(s.home, "report.json")
		// The job itself has a place for its files: DataLoader workers need one, and hang where there is none, bare
		// too.
		argv := append([]string{"/bin/sh", "-c", "TMPDIR=" + s.home + ` exec "$@"`, "sh"}, j.argv(s)...)
		c := s.pipetune(append([]string{"diagnose", "-q", "-o", report, "--"}, argv...), func(cmd *exec.Cmd) {
			cmd.Env = append(cmd.Env, "XDG_RUNTIME_DIR="+dir, "TMPDIR="+dir)
		})
		if s.same(name, bare, c) {
			unharmed++
		}
		// Where the hook reported on a small part alone, the report says so, and takes its figures from outside.
		if r := s.report(report); heard(r) || strings.Contains(said(r), "the hook reported only") {
			elsewhere++
		} else if s.hookTold(name, report) {
			told++
		}
	}
	s.measured("%d of %d jobs unharmed; the hook found another place in %d, %d reports say why there is none", unharmed,
		len(folders), elsewhere, told)
}
