//go:build reliability

package reliability

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

var parserTrials = []trial{
	{
		id: "F11-seeds", fault: "what is read is empty, cut at any byte, spoilt", made: "the seeds of all fuzz targets, among them each text of /proc and of cgroups cut at every byte and spoilt in 11 ways",
		target: "no panic, no NaN or infinity, no negative count", run: func(s *stand) { fuzzTargets(s, 0) },
	},
	{
		id: "F11-fuzz", fault: "as F11-seeds, and what a fuzzer makes of it", made: "each fuzz target for RELIABILITY_FUZZTIME, 10 s where it is not set", long: true,
		target: "0 crashers", run: func(s *stand) { fuzzTargets(s, s.fuzzTime()) },
	},
}

func (s *stand) fuzzTime() time.Duration {
	s.Helper()
	d, err := time.ParseDuration(envOr("RELIABILITY_FUZZTIME", "10s"))
	if err != nil || d <= 0 {
		s.Fatalf("RELIABILITY_FUZZTIME: a duration is wanted: %v", err)
	}
	return d
}

// goTool runs the go command in the module and returns what it writes.
func goTool(s *stand, args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = "..", os.Environ()
	out, err := cmd.CombinedOutput()
	return string(out), err
}

var fuzzedExecs = regexp.MustCompile(`execs: ([0-9]+)`)

// fuzzTargets runs every fuzz target of the module: its seeds, or for a while.
func fuzzTargets(s *stand, each time.Duration) {
	listed, err := goTool(s, "list", "-f", "{{.ImportPath}} {{.Dir}}{{range .TestGoFiles}} {{.}}{{end}}{{range .XTestGoFiles}} {{.}}{{end}}", "./...")
	if err != nil {
		s.Fatalf("listing packages: %v\n%s", err, listed)
	}
	target := regexp.MustCompile(`(?m)^func (Fuzz[A-Za-z0-9_]+)\(`)
	packages, targets, execs := 0, 0, 0
	for line := range strings.Lines(listed) {
		fields := strings.Fields(line)
		if len(fields) < 3 {
			continue
		}
		var names []string
		for _, file := range fields[2:] {
			text, err := os.ReadFile(fields[1] + "/" + file)
			if err != nil {
				s.Fatal(err)
			}
			for _, m := range target.FindAllSubmatch(text, -1) {
				names = append(names, string(m[1]))
			}
		}
		if len(names) == 0 {
			continue
		}
		packages++
		targets += len(names)
		if each == 0 {
			if out, err := goTool(s, "test", "-run", "^Fuzz", fields[0]); err != nil {
				s.Errorf("%s: %v\n%.2000s", fields[0], err, out)
			}
			continue
		}
		for _, name := range names {
			out, err := goTool(s, "test", "-run", "^$", "-fuzz", "^"+name+"$", "-fuzztime", each.String(), fields[0])
			if err != nil {
				s.Errorf("%s of %s: %v\n%.2000s", name, fields[0], err, out)
			}
			if all := fuzzedExecs.FindAllStringSubmatch(out, -1); len(all) > 0 {
				n, _ := strconv.Atoi(all[len(all)-1][1]) // digits
				execs += n
			}
		}
	}
	if targets < 25 {
		s.Errorf("only %d targets were found", targets)
	}
	if each == 0 {
		s.measured("%d targets of %d packages: all seeds pass", targets, packages)
	} else {
		s.measured("%d targets of %d packages, %v each: %d executions, no crasher", targets, packages, each, execs)
	}
	if left := bytes.TrimSpace(untracked(s)); len(left) > 0 {
		s.Errorf("a crasher was kept: %s", left)
	}
}

// untracked lists what the fuzzer has put among the seeds.
func untracked(s *stand) []byte {
	s.Helper()
	out, err := goTool(s, "list", "-f", "{{.Dir}}", "-m")
	if err != nil {
		s.Fatal(err)
	}
	cmd := exec.Command("git", "-C", strings.TrimSpace(out), "status", "--porcelain", "--untracked-files=all", "--", "*/testdata/fuzz")
	text, err := cmd.Output()
	if err != nil {
		s.Log("what the fuzzer left cannot be told: no git repository") // a crasher fails the run in any case
	}
	return text
}
