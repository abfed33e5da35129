//go:build reliability

package reliability

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/pipetune/pipetune/internal/isolate/hungmount"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/pkg/report"
)

var surroundingsTrials = []trial{
	{
		id: "F15-machine", fault: "a machine without cgroups, with version 2 alone, without pressure, /sys, or most " +
			"of /proc; everything read-only", made: "mounts in a mount namespace of each watch's own",
		target: "runs, abstains with a reason: exit 0, or 3 where there is no /proc to find the job in",
		run:    oddMachines,
	},
	{
		id: "F15-environment", fault: "no HOME, no TMPDIR, no environment, foreign or broken locale and time zone",
		made:   "`env -i` and variables, for `diagnose`, `bench-io`, `report`, `doctor`",
		target: "exit 0, the same verdict", run: oddEnvironments,
	},
	{
		id: "F6-namespace", fault: "clocks of the job and of pipetune differ",
		made:   "time namespaces (+30 days, +10 years) around the job, and around pipetune",
		target: "window, ages and rates as without; nothing negative or huge", run: timeNamespaces,
	},
	{
		id: "F6-btime", fault: "the boot time in /proc/stat moves by years",
		made: "a changed copy of /proc/stat mounted over it", target: "window, ages and rates as without",
		run: movedBootTime,
	},
	{
		id: "F2-mount", fault: "a mount answers EIO, ESTALE or half of what was asked for on the n-th read",
		made: "a FUSE mount under `bench-io`, n = 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 200, once and from there " +
			"on",
		target: "no crash; exit 0 with what failed told, or 3 with the reason; a run that says nothing met no fault",
		run:    failingMount,
	},
}

// inNamespace lets a command run in namespaces of its own, after some lines of shell.
func inNamespace(flags, lines string) func(*exec.Cmd) {
	return func(cmd *exec.Cmd) {
		cmd.Args = append(append([]string{"unshare"}, append(strings.Fields(flags), "/bin/sh", "-ec", lines+
			"\nexec \"$0\" \"$@\"", cmd.Path)...), cmd.Args[1:]...)
		cmd.Path = "/usr/bin/unshare"
	}
}

func oddMachines(s *stand) {
	s.ownMounts()
	j := steady{batches: 700, step: 50 * time.Millisecond, item: time.Millisecond, workers: 2}
	c := j.start(s)
	m := s.mount()
	defer m.release()
	m.Break(hungmount.Fault{Op: hungmount.Open, Errno: syscall.EOPNOTSUPP})
	file := filepath.Join(m.dir, hungmount.File)
	type run struct {
		name, lines, flags string
		status             int
		p                  *command
	}
	runs := []*run{
		{name: "as it is"},
		{name: "no cgroups", lines: "mount -t tmpfs none /sys/fs/cgroup"},
		{name: "cgroup version 2 alone", lines: "mount -t cgroup2 none /sys/fs/cgroup"},
		{name: "no pressure", lines: "mount -t tmpfs none /proc/pressure"},
		{name: "pressure switched off", lines: fmt.Sprintf("for f in cpu io memory; do mount --bind %s "+
			"/proc/pressure/$f; done", file)},
		{name: "no /sys", lines: "mount -t tmpfs none /sys"},
		{name: "everything read-only", lines: "mount -o remount,bind,ro /"},
		{name: "no /proc", lines: "mount -t tmpfs none /proc", status: 3},
		{name: "subset=pid", lines: "mount -t proc -o subset=pid proc /proc"},
		{name: "no /dev/shm", lines: "mount -t tmpfs -o size=4k,mode=0 none /dev/shm"},
		{name: "read-only scratch", lines: "mount --bind " + s.tmp + " " + s.tmp + "; mount -o remount,bind,ro " +
			s.tmp},
	}
	for _, r := range runs {
		args := []string{"diagnose", "--pid", strconv.Itoa(c.pid()), "--duration", "6s", "--format", "json"}
		r.p = s.pipetune(args, inNamespace("--mount "+r.flags, r.lines))
	}
	met := 0
	for _, r := range runs {
		status := r.p.wait(2 * time.Minute)
		complaints := r.p.complaints()
		if status != r.status || crashed(complaints) {
			s.Errorf("%s: exit %d, want %d: %.1500s", r.name, status, r.status, complaints)
			continue
		}
		if status != 0 {
			if !strings.Contains(complaints, "pipetune: error: ") {
				s.Errorf("%s: exit %d without a reason", r.name, status)
			}
			continue
		}
		got, err := report.Decode(strings.NewReader(string(r.p.output())))
		if err != nil {
			s.Errorf("%s: %v", r.name, err)
			continue
		}
		if _, ok := pace(got); !ok {
			s.Errorf("%s: the job's pace was not seen: %s", r.name, said(got))
		}
		for _, a := range got.Abstained {
			if a.Reason == "" {
				s.Errorf("%s: %s abstains without a reason", r.name, a.Rule)
			}
		}
		met++
		r.p.alone()
	}
	s.measured("%d surroundings, %d reports with the job's pace and a reason for each rule that abstains", len(runs),
		met)
	c.kill()
	s.leftNothing()
}

func oddEnvironments(s *stand) {
	j := steady{batches: 700, step: 50 * time.Millisecond, item: time.Millisecond, workers: 2}
	c := j.start(s)
	recording := s.testdata("recordings/no-workers.jsonl")
	dataset := s.testdata("datasets/plain.npy")
	type run struct {
		what string
		p    *command
	}
	var runs []run
	for _, env := range [][]string{
		{}, {"LANG=C"}, {"LC_ALL=no_SUCH.locale", "LANG=\xff\xfe"}, {"LC_ALL=tr_TR.UTF-8", "LANG=de_DE.UTF-8"},
		{"TZ=Nowhere/Land"}, {"TZ=:/dev/full"}, {"TZ=../../../etc/passwd"},
		{"HOME=/nonexistent", "TMPDIR=/nonexistent", "XDG_RUNTIME_DIR=/nonexistent"}, {"HOME=", "TMPDIR=", "PATH="},
		{"COLUMNS=-1", "TERM=\x1b[31m"},
	} {
		for _, args := range [][]string{
			{"diagnose", "-q", "--pid", strconv.Itoa(c.pid()), "--duration", "6s"}, {"report", recording}, {"doctor"},
			{"bench-io", dataset, "--budget", "2s", "--python", "none"},
		} {
			p := s.pipetune(args, func(cmd *exec.Cmd) { cmd.Env = env })
			runs = append(runs, run{fmt.Sprintf("%q pipetune %s", env, args[0]), p})
			if args[0] == "bench-io" {
				p.wait(2 * time.Minute) // one at a time: they measure
			}
		}
	}
	for _, r := range runs {
		if status := r.p.wait(2 * time.Minute); status != 0 || len(r.p.output()) == 0 {
			s.Errorf("%s: exit %d: %.800s", r.what, status, r.p.complaints())
		}
		r.p.alone()
	}
	s.measured("%d runs in 10 environments: exit 0 each", len(runs))
	c.kill()
	s.leftNothing()
}

// insane finds numbers in a report that no watch of some seconds can give.
var insane = regexp.MustCompile(`-[0-9]+(\.[0-9]+)? (s|ms|h)\b|e\+[0-9]{2}|NaN|Inf`)

// sane holds a report of a watch of some seconds beside a job with 20 batches a second to that.
func (s *stand) sane(what string, r *report.Report, text string, seconds float64) float64 {
	s.Helper()
	got, ok := pace(r)
	if !ok || got < 5 || got > 21 {
		s.Errorf("%s: %.2f batches a second (%t), the job makes less than 20: %s", what, got, ok, said(r))
	}
	if r.Window == nil || r.Window.DurationS <= 0 || r.Window.DurationS > seconds+1 {
		s.Errorf("%s: the window is %+v", what, r.Window)
	}
	if bad := insane.FindString(text); bad != "" {
		s.Errorf("%s: the report says %q", what, bad)
	}
	return got
}

func timeNamespaces(s *stand) {
	j := steady{batches: 180, step: 50 * time.Millisecond, item: time.Millisecond, workers: 2, more: []string{"--epoch",
		"90"}}
	var paces []string
	for _, shift := range []struct {
		what, job, own string
	}{
		{"the job 30 days ahead", "--time --fork --boottime 2592000 --monotonic 2592000", ""},
		{"pipetune 10 years ahead", "", "--time --fork --boottime 315360000 --monotonic 315360000"},
		{"both, each its own", "--time --fork --boottime 86400 --monotonic 3600",
			"--time --fork --boottime 315360000 --monotonic 86400"},
	} {
		argv := j.argv(s)
		if shift.job != "" {
			argv = append(append([]string{"unshare"}, strings.Fields(shift.job)...), argv...)
		}
		c := s.start("job", argv)
		c.awaitLines(2)
		trainer := c.pid()
		for _, pid := range workersOf(c) {
			if parentOf(pid) == c.pid() && shift.job != "" {
				trainer = pid
			}
		}
		args := []string{"diagnose", "--pid", strconv.Itoa(trainer), "--duration", "6s", "--warmup", "1s", "-o"}
		path := filepath.Join(s.work, "report.json")
		var p *command
		if shift.own != "" {
			p = s.pipetune(append(args, path), inNamespace(shift.own, ""))
		} else {
			p = s.pipetune(append(args, path))
		}
		if status := p.wait(time.Minute); status != 0 {
			s.Fatalf("%s: exit %d: %s", shift.what, status, p.complaints())
		}
		paces = append(paces, fmt.Sprintf("%s: %.1f batches/s", shift.what, s.sane(shift.what, s.report(path),
			string(p.output()), 6)))
		p.alone()
		j.unharmed(s, c)
	}
	s.measured("%s", strings.Join(paces, ", "))
	s.leftNothing()
}

func movedBootTime(s *stand) {
	s.ownMounts()
	j := steady{batches: 900, step: 50 * time.Millisecond, item: time.Millisecond, workers: 2, more: []string{"--epoch",
		"90"}}
	c := j.start(s)
	text := must.Get(os.ReadFile("/proc/stat"))(s)
	var paces []string
	for _, btime := range []string{"0", "4102444800", "18446744073709551615", "-1"} {
		dir := must.Get(os.MkdirTemp(s.work, "btime-"))(s)
		moved := filepath.Join(dir, "stat")
		must.Do(s, os.WriteFile(moved, regexp.MustCompile(`(?m)^btime .*$`).ReplaceAll(text, []byte("btime "+btime)),
			0o644))
		path := filepath.Join(dir, "report.json")
		p := s.pipetune([]string{"diagnose", "--pid", strconv.Itoa(c.pid()), "--duration", "6s", "--warmup", "1s", "-o",
			path}, inNamespace("--mount", "mount --bind "+moved+" /proc/stat"))
		if status := p.wait(time.Minute); status != 0 {
			s.Fatalf("btime %s: exit %d: %s", btime, status, p.complaints())
		}
		paces = append(paces, fmt.Sprintf("btime %s: %.1f batches/s", btime, s.sane("btime "+btime, s.report(path),
			string(p.output()), 6)))
		p.alone()
	}
	s.measured("%s", strings.Join(paces, ", "))
	j.unharmed(s, c)
	s.leftNothing()
}

func failingMount(s *stand) {
	s.ownMounts()
	content := make([]byte, 4<<20)
	for i := range content {
		content[i] = byte(i * 7)
	}
	type run struct {
		what  string
		mount mounted
		p     *command
	}
	runs, told, refused, clean := 0, 0, 0, 0
	finish := func(batch []run) {
		for _, r := range batch {
			status := r.p.wait(5 * time.Minute)
			runs++
			complaints := r.p.complaints()
			words := complaints + string(r.p.output())
			switch {
			case crashed(complaints):
				s.Errorf("%s: it crashed: %.1500s", r.what, complaints)
			case status == 3 && strings.Contains(complaints, "pipetune: error: "):
				refused++
			case status != 0:
				s.Errorf("%s: exit %d: %.800s", r.what, status, complaints)
			case strings.Contains(words, "input/output error") || strings.Contains(words, "stale") ||
				strings.Contains(words, "could not be read") || strings.Contains(words, "failed"):
				told++
			case strings.HasSuffix(r.what, "from there on"):
				// of the faults that stay, none may pass in silence; short answers are asked for again
				if !strings.Contains(r.what, "half") {
					s.Errorf("%s: a report that says nothing of it:\n%.3000s", r.what, words)
				}
				clean++
			default:
				clean++
			}
			r.mount.release()
			r.p.alone()
		}
	}
	var batch []run
	for _, fault := range []struct {
		name  string
		errno syscall.Errno
	}{{"EIO", syscall.EIO}, {"ESTALE", syscall.ESTALE}, {"half an answer", 0}} {
		for _, n := range []int{1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 200} {
			for _, times := range []int{0, 1} {
				m := s.mount()
				m.Serve(content)
				m.Break(hungmount.Fault{Op: hungmount.Read, Nth: n, Times: times, Errno: fault.errno})
				what := fmt.Sprintf("%s at read %d, %s", fault.name, n, map[int]string{0: "from there on",
					1: "once"}[times])
				p := s.pipetune([]string{"bench-io", filepath.Join(m.dir, hungmount.File), "--budget", "2s", "--python",
					"none", "--workers", "1"})
				if batch = append(batch, run{what, m, p}); len(batch) == 12 {
					finish(batch)
					batch = nil
				}
			}
		}
	}
	finish(batch)
	s.measured("%d runs: %d reports that tell what failed, %d refused with exit 3 and the reason, %d that met "+
		"nothing they could not read again", runs, told, refused, clean)
	s.leftNothing()
}
