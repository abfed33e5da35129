//go:build reliability

package reliability

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/pipetune/pipetune/internal/must"
)

var outputTrials = []trial{
	{
		id: "F8-full", fault: "the disk is full when the files are written",
		made: "-o run.jsonl -o run.json on a tmpfs of 14 sizes from 3 pages to 202, which is enough",
		target: "each file is the old one or the new one, whole; the message names it; exit 2; what was recorded " +
			"ends on a whole line and `pipetune report` reads it", run: fullDisk,
	},
	{
		id: "F8-limit", fault: "a file may not grow",
		made:   "-o run.jsonl -o run.json with 14 values of RLIMIT_FSIZE from 2 KiB to 400 KiB, which is enough",
		target: "as F8-full; no SIGXFSZ", run: fileLimit,
	},
	{
		id: "F8-calls", fault: "writing, syncing, renaming, opening fails with ENOSPC, EDQUOT, EROFS, EIO",
		made: "strace injects the error into the n-th call and all after it, n = 1, 2, … until a run of `report -o " +
			"run.json` is clean",
		target: "the file is the old one or the new one, whole; exit 2 and a message, or the run is clean; nothing " +
			"else in the folder", run: failingCalls,
	},
	{
		id: "F8-odd", fault: "the output is no plain file",
		made: "-o to a FIFO, a folder, links to /dev/full and into another folder, a read-only mount, a missing " +
			"folder",
		target: "refused before anything is measured: exit 2, the name in the message, nothing changed",
		run:    oddOutputs,
	},
	{
		id: "F8-stdout", fault: "stdout or stderr cannot be written",
		made:   "/dev/full for `report`, `diagnose`, `explain`, `help`, `version`, `doctor`, `compare`",
		target: "exit 2 and a message where stdout is full; files of -o are written in any case", run: fullStdout,
	},
}

// outputs are the files of one watch.
type outputs struct{ dir string }

func (o outputs) recording() string { return filepath.Join(o.dir, "run.jsonl") }
func (o outputs) report() string    { return filepath.Join(o.dir, "run.json") }

const oldText = "what stood here before\n"

// prepare puts old files there.
func (o outputs) prepare(s *stand) {
	s.Helper()
	for _, path := range []string{o.recording(), o.report()} {
		must.Do(s, os.WriteFile(path, []byte(oldText), 0o600))
	}
}

// whole holds one file to be the old one or a new one that pipetune reads again, and says whether it is new.
func (s *stand) whole(path string) (fresh bool) {
	s.Helper()
	text, err := os.ReadFile(path)
	switch {
	case err != nil:
		s.Errorf("the old file is gone: %v", err)
	case string(text) == oldText:
	case !s.readsAgain(path):
		s.Errorf("%s is neither the old file nor a new one that can be read: %d bytes", filepath.Base(path), len(text))
	default:
		return true
	}
	return false
}

// readsAgain says whether `pipetune report` reads a file. A recording that was cut off before its first reading has
// nothing to judge: 3.
func (s *stand) readsAgain(path string) bool {
	s.Helper()
	p := s.pipetune([]string{"report", path})
	status := p.wait(time.Minute)
	return status == 0 || status == 3 && strings.Contains(p.complaints(), "no readings")
}

// judge holds the end of a run with two outputs to what must be: whole files, a message for each that was not written,
// an exit code to it. It says whether the run was clean.
func (o outputs) judge(s *stand, p *command, status int) (clean bool) {
	s.Helper()
	complaints := p.complaints()
	freshReport, freshRecording := s.whole(o.report()), s.whole(o.recording())
	clean = freshReport && freshRecording
	for name, fresh := range map[string]bool{"run.json": freshReport, "run.jsonl": freshRecording} {
		if !fresh && !strings.Contains(complaints, name) {
			s.Errorf("nothing is said of %s: %s", name, complaints)
		}
	}
	if want := map[bool]int{true: 0, false: 2}[clean]; status != want {
		s.Errorf("exit %d, want %d: %s", status, want, complaints)
	}
	if crashed(complaints) {
		s.Errorf("it crashed: %.2000s", complaints)
	}
	for _, e := range must.Get(os.ReadDir(o.dir))(s) {
		path := filepath.Join(o.dir, e.Name())
		switch {
		case path == o.report() || path == o.recording():
		case strings.HasPrefix(e.Name(), ".run.jsonl.partial-") && strings.Contains(complaints, e.Name()):
			// kept, and said to be
			text := must.Get(os.ReadFile(path))(s)
			if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
				s.Errorf("what was recorded ends in the middle of a line: %.200q", text[max(0, len(text)-200):])
			}
			if len(text) > 0 && !s.readsAgain(path) {
				s.Errorf("what was recorded cannot be read again: %d bytes", len(text))
			}
		default:
			s.Errorf("left: %s", e.Name())
		}
	}
	return clean
}

// takeReport holds a report that a run of pipetune was to write to be whole, and removes it.
func (s *stand) takeReport(path string, args []string) {
	s.Helper()
	if text, err := os.ReadFile(path); err != nil || !bytes.HasSuffix(text, []byte("}\n")) {
		s.Errorf("pipetune %s: the file was not written: %d bytes, %v", strings.Join(args, " "), len(text), err)
	}
	if err := os.Remove(path); err != nil {
		s.Error(err)
	}
}

func oddOutputs(s *stand) {
	j := steady{batches: 200, step: 10 * time.Millisecond, workers: 1}
	job := j.start(s)
	dir, other, frozen := s.folder("odd"), s.folder("other"), s.folder("frozen")
	must.Do(s, os.Mkdir(filepath.Join(dir, "folder.json"), 0o700))
	s.tmpfs(frozen, syscall.MS_RDONLY, "size=16k")
	target := filepath.Join(other, "target.json")
	must.Do(s, os.WriteFile(target, []byte(oldText), 0o600))
	for link, to := range map[string]string{"full.json": "/dev/full", "link.json": target,
		"dangling.json": filepath.Join(other, "new.json"), "self.json": "self.json"} {
		must.Do(s, os.Symlink(to, filepath.Join(dir, link)))
	}
	must.Do(s, syscall.Mkfifo(filepath.Join(dir, "fifo.json"), 0o600))
	names := []string{filepath.Join(frozen, "new.json"), s.in("missing/new.json"), filepath.Join(target, "below.json")}
	for name := range strings.FieldsSeq("folder full link dangling self fifo") {
		names = append(names, filepath.Join(dir, name+".json"))
	}
	slowest := time.Duration(0)
	for _, name := range names {
		for _, suffix := range []string{"", "l"} { // the report and the recording go the same way
			path := name + suffix
			if suffix != "" && (strings.HasPrefix(name, dir)) {
				must.Do(s, os.Rename(name, path))
			}
			p := s.pipetune(watchOf(job, "60s", "-o", path))
			status, took := p.ending(time.Minute)
			slowest = max(slowest, took)
			if status != 2 || !strings.Contains(p.complaints(), path) {
				s.Errorf("-o %s: exit %d: %s", path, status, p.complaints())
			}
			if len(p.output()) > 0 {
				s.Errorf("-o %s: a report was printed: %.200s", path, p.output())
			}
		}
	}
	if text, err := os.ReadFile(target); err != nil || string(text) != oldText {
		s.Errorf("the file that a link points to was changed: %.100q %v", text, err)
	}
	if entries, err := os.ReadDir(other); err != nil || len(entries) != 1 {
		s.Errorf("the folder that links point into holds %d entries: %v", len(entries), err)
	}
	s.measured("%d refusals of %d, slowest %.2f s, nothing written", 2*len(names), 2*len(names), slowest.Seconds())
	j.unharmed(s, job)
}

func fullStdout(s *stand) {
	j := steady{batches: 2000, step: 10 * time.Millisecond, workers: 1}
	job := j.start(s)
	recording, report := s.testdata("recordings/no-workers.jsonl"), s.testdata("reports/reopened.json")
	full := func() *os.File {
		f := must.Get(os.OpenFile("/dev/full", os.O_WRONLY, 0))(s)
		s.Cleanup(func() { f.Close() })
		return f
	}
	out := s.in("out.json")
	runs := [][]string{
		watchOf(job, "6s", "-q", "-o", out), // as long as there is a job
		{"report", recording, "-o", out}, {"report", report, "--format", "json"}, {"report", report, "--format", "md"},
		{"explain"}, {"explain", "gpu/bound"}, {"help"}, {"help", "exit-codes"}, {"diagnose", "--help"}, {"version"},
		{"doctor"}, {"compare", report, report, "-o", out},
	}
	for _, args := range runs {
		s.runOnto(full, args, out, 2, "stdout")
	}
	s.measured("%d runs: exit 2 each time, 6 files of 3 kinds of runs whole", 2*len(runs))
	j.unharmed(s, job)
}

// runOnto runs pipetune with its stdout on a stream that cannot be written to, and again with its stderr on one too:
// its end must be the right one, the file whole that it was to write, and these words said where they can be.
func (s *stand) runOnto(stream func() *os.File, args []string, out string, status int, says string) {
	s.Helper()
	for _, both := range []bool{false, true} {
		p := s.pipetune(args, func(cmd *exec.Cmd) {
			cmd.Stdout = stream()
			if both {
				cmd.Stderr = stream()
			}
		})
		p.ends(2*time.Minute, status)
		if said := p.complaints(); !both && !strings.Contains(said, says) {
			s.Errorf("%s: nothing is said of %s: %q", p, says, said)
		}
		if slices.Contains(args, out) {
			s.takeReport(out, args)
		}
	}
}
