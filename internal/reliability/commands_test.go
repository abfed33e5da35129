//go:build reliability

package reliability

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/must"
)

// stubs are the programs that a line to copy may name; here they do nothing. touch is the real one: it makes the
// marker.
var stubs = strings.Fields("pipetune python3 h5repack tar find cp mv mkdir patch cd2 rm sudo")

// copied collects every command of a JSON report that a person is told to run.
func copied(v any, key string) (all []string) {
	switch x := v.(type) {
	case map[string]any:
		for k := range x {
			all = append(all, copied(x[k], k)...)
		}
	case []any:
		for i := range x {
			all = append(all, copied(x[i], key)...)
		}
	case string:
		if key == "command" || key == "next" || key == "check" || strings.HasPrefix(x, "pipetune ") {
			all = append(all, x)
		}
	}
	return all
}

func hostileCommands(s *stand) {
	var lines []string
	for _, p := range nameable() {
		for _, path := range []string{p, "/data/" + p, "~/" + p, "-" + p} {
			lines = append(lines, "pipetune bench-io "+diagnose.ShellWord(path))
		}
	}
	direct := len(lines)
	// Those that bench-io prints for real: candidates of --try for pictures, in folders whose names hold quotes,
	// commands, and what makes $'…' needed.
	for i, name := range []string{"'; touch marker; '", "\x01'; touch marker; '\\'; touch marker; '",
		"$(touch marker)`touch marker`\n;touch marker;", "\"; touch marker; \" & touch marker"} {
		dir := filepath.Join(s.work, "sets", strconv.Itoa(i), name)
		must.Do(s, os.MkdirAll(dir, 0o755))
		for k := range 6 {
			s.write(filepath.Join(dir, name+strconv.Itoa(k)+".png"), string(tinyPNG(s)))
		}
		out := filepath.Join(s.folder("out"), "out.json")
		s.pipetune(quickBench(dir, "-q", "-v", "--try", "--no-redact", "-o", out)).ends(5*time.Minute, 0)
		lines = append(lines, copied(fromJSON[any](s, out), "")...)
	}
	if len(lines) < direct+8 {
		s.Errorf("bench-io --try named %d commands to copy", len(lines)-direct)
	}
	bin, box := s.folder("bin"), s.folder("box")
	for _, stub := range stubs {
		s.write(filepath.Join(bin, stub), "#!/bin/sh\nexit 0\n")
	}
	must.Do(s, os.Symlink(must.Get(exec.LookPath("touch"))(s), filepath.Join(bin, "touch")))
	// run returns how many markers a line leaves.
	run := func(line string, args ...string) (marks int) {
		for _, shell := range []string{"sh", "bash"} {
			cmd := exec.Command(shell, append(args, "-c", line)...)
			cmd.Dir, cmd.Env = box, []string{"PATH=" + bin, "HOME=" + box}
			if out, err := cmd.CombinedOutput(); err != nil && len(args) > 0 {
				s.Errorf("%s does not parse %q: %s", shell, line, out)
			}
			for _, marker := range []string{"marker", "-marker"} {
				if os.Remove(filepath.Join(box, marker)) == nil {
					marks++
				}
			}
		}
		return marks
	}
	marks := 0
	for _, line := range lines {
		if n := run(line, "-n") + run(line); n > 0 {
			marks += n
			s.Errorf("the line %q runs what a name holds", line)
		}
	}
	if run("pipetune bench-io '; touch marker; '")+run("pipetune bench-io $(touch marker)") == 0 {
		s.Errorf("the sandbox does not see a line that runs what a name holds")
	}
	s.measured("%d lines, %d of them from bench-io --try, each by sh and bash: %d markers", len(lines),
		len(lines)-direct, marks)
}
