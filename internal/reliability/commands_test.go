//go:build reliability

package reliability

import (
	"encoding/json"
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
			must.Do(s, os.WriteFile(filepath.Join(dir, name+strconv.Itoa(k)+".png"), tinyPNG(s), 0o644))
		}
		out := filepath.Join(s.folder("out"), "out.json")
		c := s.pipetune([]string{"bench-io", "-q", "-v", "--budget", "5s", "--workers", "1", "--no-cold", "--python",
			"none", "--try", "--no-redact", "-o", out, dir})
		if status := c.wait(5 * time.Minute); status != 0 {
			s.Errorf("bench-io --try on %q: exit %d: %s", name, status, c.complaints())
			continue
		}
		text := must.Get(os.ReadFile(out))(s)
		var tree any
		must.Do(s, json.Unmarshal(text, &tree))
		lines = append(lines, copied(tree, "")...)
	}
	if len(lines) < direct+8 {
		s.Errorf("bench-io --try named %d commands to copy", len(lines)-direct)
	}
	marks, shells := 0, []string{"sh", "bash"}
	bin := s.folder("bin")
	for _, stub := range stubs {
		must.Do(s, os.WriteFile(filepath.Join(bin, stub), []byte("#!/bin/sh\nexit 0\n"), 0o755))
	}
	for _, touch := range []string{"/usr/bin/touch", "/bin/touch"} {
		if _, err := os.Stat(touch); err == nil {
			must.Do(s, os.Symlink(touch, filepath.Join(bin, "touch")))
			break
		}
	}
	box := s.folder("box")
	run := func(line string) {
		for _, shell := range shells {
			path := must.Get(exec.LookPath(shell))(s)
			for _, args := range [][]string{{"-n", "-c", line}, {"-c", line}} {
				cmd := exec.Command(path, args...)
				cmd.Dir, cmd.Env = box, []string{"PATH=" + bin, "HOME=" + box}
				if out, err := cmd.CombinedOutput(); err != nil && args[0] == "-n" {
					s.Errorf("%s does not parse %q: %s", shell, line, out)
				}
			}
		}
		for _, marker := range []string{"marker", "-marker"} {
			if err := os.Remove(filepath.Join(box, marker)); err == nil {
				marks++
				s.Errorf("the line %q runs what a name holds", line)
			}
		}
	}
	for _, line := range lines {
		run(line)
	}
	before := s.failure
	made := 0
	for _, raw := range []string{"pipetune bench-io '; touch marker; '", "pipetune bench-io $(touch marker)"} {
		// the sandbox sees a line that is not quoted
		for _, shell := range shells {
			cmd := exec.Command(shell, "-c", raw)
			cmd.Dir, cmd.Env = box, []string{"PATH=" + bin}
			_ = cmd.Run() // the marker tells
			if err := os.Remove(filepath.Join(box, "marker")); err == nil {
				made++
			}
		}
	}
	if made == 0 || s.failure != before {
		s.Errorf("the sandbox does not see a line that runs what a name holds")
	}
	s.measured("%d lines, %d of them from bench-io --try, each by sh and bash: %d markers", len(lines),
		len(lines)-direct, marks)
	s.leftNothing()
}
