//go:build reliability

package reliability

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/pipetune/pipetune/internal/hook/trackernoise"
	"github.com/pipetune/pipetune/internal/must"
)

var guestTrials = []trial{
	{
		id: "H10", fault: "the job has a start of its own: sitecustomize, usercustomize, PYTHONPATH, -I -E -S -s, a " +
			"venv, a zipapp",
		made: "each, bare and launched; the job prints what ran, its sys.path, and PYTHONPATH in children and " +
			"grandchildren",
		target: "what the job prints is the same: the person's code runs exactly once, PYTHONPATH is as before",
		run:    func(s *stand) { alike(s, guests(s)) },
	},
	{
		id: "H12", fault: "the job trains, forks or ends in a way of its own",
		made: "no workers, 64, by spawn and forkserver, in a thread, in forked children, by a subclass, an emptied " +
			"environment, -I, -E, stdin; ended by exit, a signal, a killed worker, exceptions in the step and in a " +
			"worker; each bare and launched",
		target: "stdout and status as bare, and stderr where it names no process or line of the hook's; why the hook " +
			"cannot get in is said",
		run: func(s *stand) { alike(s, oddJobs(s)) },
	},
}

// guest is one way to start an interpreter, or for a job to be or to end.
type guest struct {
	name  string
	argv  []string
	env   []string
	stdin string
	says  string // what must be among what pipetune itself says
	pids  bool   // what the job writes to stderr names processes, or lines of whoever called

	// stays: without the site module nothing of the hook's runs that could take its folder from sys.path again.
	stays bool
}

// oddJobs are the ways of testdata/hostile/job.py.
func oddJobs(s *stand) (cases []guest) {
	cases = []guest{
		{name: "train"}, {name: "workerless"}, {name: "spawn"}, {name: "forkserver"}, {name: "many"}, {name: "exit"},
		{name: "segv"}, {name: "worker-killed", pids: true}, {name: "raise"}, {name: "poison", pids: true},
		{name: "thread"}, {name: "fork"}, {name: "subclass"}, {name: "empty-environment", says: "environment"},
		{name: "train -I", says: "-I"}, {name: "train -E", says: "-E"},
		{name: "stdin", stdin: "every byte\x00 of it\n"},
	}
	for i, c := range cases {
		way, flag, _ := strings.Cut(c.name, " ")
		// What a job that is killed leaves in TMPDIR is its own.
		argv := append([]string{"env", "TMPDIR=" + s.folder("job-tmp"), s.python}, strings.Fields(flag)...)
		cases[i].argv = append(argv, s.testdata("hostile/job.py"), way)
	}
	return cases
}

// guests are interpreters with a start of their own.
func guests(s *stand) []guest {
	s.Helper()
	script := s.testdata("reliability/guest.py")
	write := func(name, text string) string {
		path := s.in(name)
		must.Do(s, os.MkdirAll(filepath.Dir(path), 0o755))
		s.write(path, text)
		return filepath.Dir(path)
	}
	const counts = "import builtins\nbuiltins.%s = getattr(builtins, '%s', 0) + 1\n"
	own := write("own/sitecustomize.py", strings.ReplaceAll(counts, "%s", "site_runs"))
	other := write("other/something.py", "")
	version := must.Get(exec.Command(s.python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])").Output())(s)
	user := filepath.Join("user", "lib", "python"+strings.TrimSpace(string(version)), "site-packages")
	write(filepath.Join(user, "usercustomize.py"), strings.ReplaceAll(counts, "%s", "user_runs"))
	venv, app := s.in("venv"), s.in("app.pyz")
	must.Python(s, "-m", "venv", "--without-pip", "--system-site-packages", venv)
	must.Python(s, "-m", "zipapp", write("app/__main__.py", string(must.Get(os.ReadFile(script))(s))), "-o", app)
	return []guest{
		{name: "plain", argv: []string{s.python, script, "torch"}},
		{name: "sitecustomize", argv: []string{s.python, script, "torch"}, env: []string{"PYTHONPATH=" + own}},
		{name: "usercustomize", argv: []string{s.python, script}, env: []string{"PYTHONUSERBASE=" +
			filepath.Join(s.work, "user")}},
		{name: "PYTHONPATH of several", argv: []string{s.python, script}, env: []string{"PYTHONPATH=/nowhere:" + other +
			":" + own}},
		{name: "PYTHONPATH is empty", argv: []string{s.python, script}, env: []string{"PYTHONPATH="}},
		{name: "-I", argv: []string{s.python, "-I", script, "torch"}, env: []string{"PYTHONPATH=" + own}},
		{name: "-E", argv: []string{s.python, "-E", script}, env: []string{"PYTHONPATH=" + own}},
		{name: "-S", argv: []string{s.python, "-S", script}, env: []string{"PYTHONPATH=" + own}, stays: true},
		{name: "-s", argv: []string{s.python, "-s", script, "torch"}, env: []string{"PYTHONPATH=" + own}},
		{name: "venv", argv: []string{filepath.Join(venv, "bin", "python"), script, "torch"},
			env: []string{"VIRTUAL_ENV=" + venv}},
		{name: "zipapp", argv: []string{s.python, app, "torch"}, env: []string{"PYTHONPATH=" + own}},
	}
}

// alike runs each case bare and launched.
func alike(s *stand, cases []guest) {
	same := 0
	var shown []string
	for _, c := range cases {
		with := func(cmd *exec.Cmd) {
			cmd.Env, cmd.Stdin = append(cmd.Env, c.env...), strings.NewReader(c.stdin)
		}
		bare := s.start("bare", c.argv, with)
		launched := s.pipetune(append([]string{"diagnose", "--"}, c.argv...), with)
		want, got := bare.wait(10*time.Minute), launched.wait(10*time.Minute)
		// The environment of children is distinguished from all else: there the hook's folder must stand for workers
		// that are spawned.
		printed, path := withoutPath(string(bare.output()))
		output := string(launched.output())
		if c.stays {
			shorter := regexp.MustCompile(`(?m)^path \['`+regexp.QuoteMeta(s.runtime)+
				`/[^']*', `).ReplaceAllString(output, "path [")
			if shorter == output {
				s.Errorf("%s: the hook's folder is not in sys.path\n%s", c.name, output)
			}
			output = shorter
			s.missed("%s: sys.path begins with the hook's folder, since Python reads PYTHONPATH and runs no site "+
				"module that could take it out", c.name)
		}
		printedLaunched, guestPath := withoutPath(output)
		// Python's own resource tracker warns at the end of some jobs, by chance.
		complaints, _ := trackernoise.Strip(bare.complaints())
		complaintsLaunched, _ := trackernoise.Strip(launched.complaints())
		if printedLaunched != printed || got != want || !c.pids && !sameComplaints(complaints, complaintsLaunched) {
			s.Errorf("%s: launched (%d):\n%s%s\nbare (%d):\n%s%s", c.name, got, printedLaunched, launched.complaints(),
				want, printed, bare.complaints())
			continue
		}
		if !strings.Contains(launched.complaints(), c.says) {
			s.Errorf("%s: nothing is said of %q: %s", c.name, c.says, launched.complaints())
		}
		same++
		if path != guestPath {
			shown = append(shown, c.name)
		}
	}
	s.measured("what the job prints is the same in %d of %d ways", same, len(cases))
	if len(shown) > 0 {
		s.missed("os.environ[\"PYTHONPATH\"] of children begins with the hook's folder (%s): the hook gets into "+
			"spawned workers by it",
			strings.Join(shown, ", "))
	}
}

// withoutPath takes the environment's PYTHONPATH out of what guest.py prints of children: what stands between the list
// of sys.path and the last word.
func withoutPath(output string) (rest, paths string) {
	for line := range strings.Lines(output) {
		if !strings.HasPrefix(line, "child ") && !strings.HasPrefix(line, "grandchild ") {
			rest += line
			continue
		}
		list, after, _ := strings.Cut(line, "] ")
		at := strings.LastIndex(after, " ")
		rest += list + "]" + after[at:]
		paths += after[:at] + "\n"
	}
	return rest, paths
}
