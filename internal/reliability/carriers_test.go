//go:build reliability

package reliability

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/untrusted/untrustedtest"
)

// into are the files that a run of pipetune writes into a folder, beside what it prints.
func into(dir, suffixes string) (args []string) {
	for suffix := range strings.FieldsSeq(suffixes) {
		args = append(args, "-o", filepath.Join(dir, "out"+suffix))
	}
	return args
}

// ownTags are all tags and comments that pipetune's Markdown has.
var ownTags = regexp.MustCompile(`^(<!-- pipetune:[a-z0-9:-]* -->|</?(details|summary|sub|pre)>|<!--)*$`)

// presentable holds what a run has printed and written to what may be shown: and returns how many bytes that were.
func presentable(s *stand, c *command, dir string) (size int) {
	s.Helper()
	for name, text := range everything(s, c, dir) {
		size += len(text)
		switch filepath.Ext(name) {
		case ".json":
			if !json.Valid([]byte(text)) {
				s.Errorf("%s is not JSON", name)
			}
		case ".jsonl":
			for line := range strings.Lines(text) {
				if !json.Valid([]byte(line)) || strings.TrimSuffix(line, "\n") == line {
					s.Errorf("%s holds a line that is not JSON: %.80q", name, line)
				}
			}
		case ".md":
			harmlessMarkdown(s, text)
		}
		if why := invisible(text); why != "" {
			s.Errorf("%s of %s lets %s through: %s", name, c, why, around(text))
		}
	}
	return size
}

// shows runs pipetune with files to write, and holds them and what it prints to what may be shown.
func (s *stand) shows(args []string, suffixes string, codes ...int) (size int) {
	s.Helper()
	out := s.folder("out")
	c := s.pipetune(append(args, into(out, suffixes)...))
	c.ends(5*time.Minute, codes...)
	return presentable(s, c, out)
}

// around is what stands beside the first byte that must not be there.
func around(text string) string {
	for i, c := range text {
		if invisible(string(c)) != "" || c == 0xfffd {
			return fmt.Sprintf("%q", text[max(0, i-60):min(len(text), i+60)])
		}
	}
	return ""
}

// harmlessMarkdown holds Markdown to what pipetune writes: one heading, tags of its own, tables whose rows are as wide
// as their head, no link.
func harmlessMarkdown(s *stand, source string) {
	s.Helper()
	columns, headings := "", 0
	for line := range strings.Lines(markdownShape(source)) {
		depth, what, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case strings.HasPrefix(what, "heading"):
			headings++
		case what == "Table":
			columns = ""
		case strings.HasPrefix(what, "row of"):
			if columns == "" {
				columns = depth + what
			}
			if depth+what != columns {
				s.Errorf("a table has %s and %s", columns, depth+what)
			}
		case what == "Link", what == "Image", what == "AutoLink", depth == "reference", what == "Strikethrough",
			what == "TaskCheckBox":
			s.Errorf("the Markdown has a %s", strings.TrimSpace(line))
		case strings.HasPrefix(what, "html"), strings.HasPrefix(what, "tag"):
			if _, tags, _ := strings.Cut(what, " "); !ownTags.MatchString(tags) {
				s.Errorf("the Markdown has the tags %s", tags)
			}
		}
	}
	if headings != 1 {
		s.Errorf("the Markdown has %d headings", headings)
	}
}

// quickBench are the arguments of a bench-io of a few seconds.
func quickBench(path string, more ...string) []string {
	return append([]string{"bench-io", "--budget", "5s", "--workers", "1", "--no-cold", "--python", "none", path},
		more...)
}

func hostileFiles(s *stand) {
	names := nameable()
	worst := []string{"\n# x\x1b]52;c;ZXZpbA==\a`$(touch marker)`|</details>@team\u202e", "-rf <b>\xff\xfe ' \" \\ ;&",
		"[x](http:evil) *a* #1 \r\tGH-1"}
	written := 0
	for i, folder := range worst {
		dir := filepath.Join(s.work, "data", strconv.Itoa(i), folder)
		must.Do(s, os.MkdirAll(dir, 0o755))
		picture := string(tinyPNG(s))
		for _, name := range names {
			s.write(filepath.Join(dir, name+".png"), picture)
		}
		s.write(filepath.Join(dir, names[0]+"broken.png"), picture[:len(picture)/2])
		written += s.shows(quickBench(dir), ".txt .md .json", 0)
	}
	s.measured("%d names in each of %d folders, %d bytes of output, exit 0", len(names), len(worst), written)
}

func hostileDatasets(s *stand) {
	file := s.in("names.h5")
	names := slices.DeleteFunc(nameable(), func(p string) bool { return !utf8.ValidString(p) })
	list := must.Get(json.Marshal(names))(s)
	made := s.start("h5py", []string{s.python, "-c", `
import json, sys, h5py, numpy
names = json.loads(sys.stdin.read())
with h5py.File(sys.argv[1], "w") as f:
    for n in names:
        f.create_dataset(n, data=numpy.zeros((16, 32, 32), "u1"), chunks=(1, 32, 32))
        f.attrs[n] = n
        f["group " + n] = h5py.SoftLink("/" + n)
        f.require_group("inner").create_group(n).attrs["x"] = n
    f.create_dataset("\n# most\x1b[2J|$(touch marker)\u202e@team", data=numpy.zeros((256, 64, 64), "u1"), chunks=(1, 64, 64), compression="gzip")
print(len(names))
`, file}, func(cmd *exec.Cmd) { cmd.Stdin = strings.NewReader(string(list)) })
	made.ends(2*time.Minute, 0)
	// 3: of so many alike the first is read, whose name cannot be asked for as it is shown
	written := s.shows(quickBench(file), ".txt .md .json", 0, 3) +
		s.shows(quickBench(file, "--dataset", "/田中さんにあげて下さい"), ".txt .md .json", 0) +
		s.shows(quickBench(file, "--dataset", "/nosuch\x1b[2J\n|"), ".txt .md .json", 1, 2, 3, 4)
	s.measured("%s names of datasets, groups, links and attributes, %d bytes of output in 3 runs",
		strings.TrimSpace(string(made.output())), written)
}

// crowd is a process with hostile arguments, and children with hostile names of their own. It gives the processor
// something to do and ends by itself.
const crowd = `
import ctypes, os, sys, time
libc = ctypes.CDLL(None)
names = [os.fsencode(n) for n in sys.argv[1:]]
ppid = os.getpid()
for name in names:
    if os.fork() == 0:
        libc.prctl(15, name[:15])
        while os.getppid() == ppid:
            time.sleep(0.2)
        os._exit(0)
libc.prctl(15, b"\n\x1b[2J|\xff")
print("up", flush=True)
end = time.time() + float(os.environ["SECONDS"])
while time.time() < end:
    sum(range(100000))
    time.sleep(0.01)
`

func hostileProcess(s *stand) {
	script := s.in("\n\x1b[31m| @team.py")
	s.write(script, crowd)
	names := arguable()
	group := "/sys/fs/cgroup/memory/pt\x1b[2J|\u202e`@team" + strconv.Itoa(os.Getpid())
	if err := os.Mkdir(group, 0o755); err != nil {
		s.Fatalf("a control group of version 1 is needed: %v", err)
	}
	s.Cleanup(func() {
		s.until(time.Minute, "the control group is empty", func() bool { return os.Remove(group) == nil })
	})
	job := s.start("job", append([]string{"python\x1b]0;x\a|\n", script}, names...), s.asPython, func(cmd *exec.Cmd) {
		cmd.Env = append(cmd.Env, "SECONDS=45")
	})
	job.awaitLines(1)
	must.Do(s, os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(job.pid())), 0o644))
	out := s.folder("out")
	c := s.under(append([]string{"unshare", "--uts"}, shell(`printf '\n\033[2J|\377@team' >/proc/sys/kernel/hostname`)...),
		watchOf(job, "6s", append([]string{"--no-redact"}, into(out, ".txt .md .json .jsonl")...)...))
	c.ends(2*time.Minute, 0, 3)
	size := presentable(s, c, out)
	recording := must.Get(os.ReadFile(filepath.Join(out, "out.jsonl")))(s)
	if n := strings.Count(string(recording), `"kind":"process"`); n < len(names) {
		s.Errorf("the recording names %d processes of %d", n, len(names))
	}
	s.measured("%d arguments, %d processes with names of their own, %d bytes of output", len(names), len(names)+1, size)
}

func hostileGPU(s *stand) {
	lib := driver{}.build(s)
	written, runs, shown := 0, 0, 0
	name := "" // several payloads make one: a driver's names have up to 95 bytes, and each run imports torch
	var names []string
	for _, p := range untrustedtest.Payloads {
		if len(p) > 90 || strings.Contains(p, "\x00") {
			continue
		}
		if len(name)+len(p) > 90 {
			names, name = append(names, name), ""
		}
		name += p
		shown++
	}
	for _, p := range append(names, name) {
		var escaped strings.Builder
		for _, b := range []byte(p) {
			fmt.Fprintf(&escaped, `\x%02x`, b)
		}
		s.write(filepath.Join(lib, "fakenvml.conf"), "gpus 1\nname "+escaped.String()+"\n")
		c := s.pipetune([]string{"doctor"}, func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, "LD_LIBRARY_PATH="+lib) })
		c.ends(time.Minute, 0)
		written += presentable(s, c, s.folder("none"))
		runs++
	}
	s.measured("%d payloads in %d names, %d bytes of output, exit 0", shown, runs, written)
}

func hostileHook(s *stand) {
	script := filepath.Join(s.folder("\n# x\x1b[2J|@team"), "$(touch marker)\u202e.py")
	const source = `
import sys, time, torch
from torch.utils.data import DataLoader, Dataset, SequentialSampler
bad = "\n# x\x1b]52;c;ZXZpbA==\a|` + "```" + `</details>@team\u202e"
class Numbers(Dataset):
    def __len__(self): return 400
    def __getitem__(self, i):
        open("/dev/null").close()
        time.sleep(0.002)
        return torch.zeros(4)
Numbers.__name__ = Numbers.__qualname__ = bad
Numbers.__module__ = bad
class Sampler(SequentialSampler): pass
Sampler.__name__ = Sampler.__qualname__ = bad
data = Numbers()
for epoch in range(3):
    for batch in DataLoader(data, batch_size=4, num_workers=1, sampler=Sampler(data)):
        time.sleep(0.02)
print("trained", flush=True)
`
	s.write(script, source)
	out := s.folder("out")
	c := s.pipetune(slices.Concat([]string{"diagnose"}, into(out, ".txt .md .json .jsonl"),
		[]string{"--", s.python, script}))
	c.ends(5*time.Minute, 0)
	if string(c.output()) != "trained\n" {
		s.Errorf("the job printed %q", c.output())
	}
	s.measured("%d bytes of output, the job's own as it was", presentable(s, c, out))
}

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
