//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// drawnWithin is how long a screen is waited for: ten seconds to a first verdict, and room for a machine that is busy.
const drawnWithin = time.Minute

// terminal is a shell in a terminal of tmux, which nobody looks at.
type terminal struct {
	t      *testing.T
	socket string
	folder string
}

// openTerminal opens a terminal of that size with a shell in it. It is closed with the test.
func openTerminal(t *testing.T, width, height int, environ []string) terminal {
	t.Helper()
	folder := t.TempDir()
	p := terminal{t, filepath.Join(folder, "tmux"), folder}
	cmd := exec.Command("tmux", "-S", p.socket, "-f", "/dev/null", "new-session", "-d", "-x", strconv.Itoa(width), "-y",
		strconv.Itoa(height), "sh")
	cmd.Env, cmd.Dir = append(environ, "TERM=xterm-256color", "LC_ALL=C.UTF-8"), folder
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("opening a terminal (apt-get install tmux): %v: %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("tmux", "-S", p.socket, "kill-server").Run() }) // it may be gone
	// what is typed is not what is waited for
	p.enter("clear; echo rea''dy")
	p.wait("ready")
	return p
}

// tmux gives the terminal a command, and returns what that says.
func (p terminal) tmux(args ...string) string {
	p.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", p.socket}, args...)...).CombinedOutput()
	if err != nil {
		p.t.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return string(out)
}

func (p terminal) screen() string { return p.tmux("capture-pane", "-p") }

// press presses keys by tmux's names.
func (p terminal) press(keys ...string) { p.tmux(append([]string{"send-keys"}, keys...)...) }

// enter types a line.
func (p terminal) enter(line string) { p.press(line, "Enter") }

// wait waits until the screen shows a text.
func (p terminal) wait(text string) string {
	p.t.Helper()
	return p.until(strconv.Quote(text), func(screen string) bool { return strings.Contains(screen, text) })
}

// until waits until the screen is as it should be.
func (p terminal) until(what string, done func(screen string) bool) string {
	p.t.Helper()
	for end := time.Now().Add(drawnWithin); ; time.Sleep(100 * time.Millisecond) {
		screen := p.screen()
		if done(screen) {
			return screen
		}
		if time.Now().After(end) {
			p.t.Fatalf("%s did not come:\n%s", what, screen)
		}
	}
}

// resize makes the terminal another size.
func (p terminal) resize(width, height int) {
	p.tmux("resize-window", "-x", strconv.Itoa(width), "-y", strconv.Itoa(height))
}

// settings are those of the terminal that a program may leave changed, as stty and tmux have them.
func (p terminal) settings() string {
	p.t.Helper()
	file := filepath.Join(p.folder, "stty")
	again := strconv.FormatInt(time.Now().UnixNano(), 36) // what an earlier call wrote may still stand on the screen
	p.enter("stty -a >" + file + "; clear; echo writ''ten " + again)
	p.wait("written " + again)
	out, err := os.ReadFile(file)
	if err != nil {
		p.t.Fatal(err)
	}
	_, modes, _ := strings.Cut(string(out), ";") // the size is before it
	_, modes, _ = strings.Cut(modes, ";")
	_, modes, _ = strings.Cut(modes, ";")
	return modes + p.tmux("display-message", "-p", "alternate #{alternate_on} cursor #{cursor_flag} keypad "+
		"#{keypad_flag} mouse #{mouse_any_flag}")
}

// fits reports what is wrong with how a screen stands in its size.
func fits(screen string, width, height int) error {
	lines := strings.Split(strings.TrimRight(screen, "\n"), "\n")
	if len(lines) > height {
		return fmt.Errorf("%d lines on a screen of %d", len(lines), height)
	}
	for _, line := range lines {
		if n := utf8.RuneCountInString(line); n > width {
			return fmt.Errorf("%d columns on a screen of %d: %s", n, width, line)
		}
	}
	return nil
}
