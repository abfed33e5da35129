//go:build reliability

package reliability

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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

// inNamespace lets a program run in namespaces of its own, after some lines of shell.
func inNamespace(flags, lines string) []string {
	return slices.Concat([]string{"unshare"}, strings.Fields(flags), shell(lines))
}

func oddMachines(s *stand) {
	s.ownMounts()
	c := steady{batches: 700, step: 50 * time.Millisecond, item: time.Millisecond, workers: 2}.start(s)
	m := s.mount()
	defer m.release()
	m.Break(hungmount.Fault{Op: hungmount.Open, Errno: syscall.EOPNOTSUPP})
	file := filepath.Join(m.dir, hungmount.File)
	type run struct {
		name, lines string
		status      int
		p           *command
	}
	runs := []run{
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
	for i, r := range runs {
		runs[i].p = s.under(inNamespace("--mount", r.lines), watchOf(c, "6s", "--format", "json"))
	}
	met := 0
	for _, r := range runs {
		if status := r.p.ends(2*time.Minute, r.status); status != 0 {
			if !strings.Contains(r.p.complaints(), "pipetune: error: ") {
				s.Errorf("%s: exit %d without a reason", r.name, status)
			}
			continue
		}
		got, err := report.Decode(bytes.NewReader(r.p.output()))
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
	}
	s.measured("%d surroundings, %d reports with the job's pace and a reason for each rule that abstains", len(runs),
		met)
}

func oddEnvironments(s *stand) {
	c := steady{batches: 700, step: 50 * time.Millisecond, item: time.Millisecond, workers: 2}.start(s)
	recording, dataset := s.testdata("recordings/no-workers.jsonl"), s.testdata("datasets/plain.npy")
	var runs []*command
	for _, env := range [][]string{
		{}, {"LANG=C"}, {"LC_ALL=no_SUCH.locale", "LANG=\xff\xfe"}, {"LC_ALL=tr_TR.UTF-8", "LANG=de_DE.UTF-8"},
		{"TZ=Nowhere/Land"}, {"TZ=:/dev/full"}, {"TZ=../../../etc/passwd"},
		{"HOME=/nonexistent", "TMPDIR=/nonexistent", "XDG_RUNTIME_DIR=/nonexistent"}, {"HOME=", "TMPDIR=", "PATH="},
		{"COLUMNS=-1", "TERM=\x1b[31m"},
	} {
		for _, args := range [][]string{
			watchOf(c, "6s", "-q"), {"report", recording}, {"doctor"},
			{"bench-io", dataset, "--budget", "2s", "--python", "none"},
		} {
			p := s.pipetune(args, func(cmd *exec.Cmd) { cmd.Env = env })
			runs = append(runs, p)
			if args[0] == "bench-io" {
				p.wait(2 * time.Minute) // one at a time: they measure
			}
		}
	}
	for _, p := range runs {
		if p.ends(2*time.Minute, 0); len(p.output()) == 0 {
			s.Errorf("%s in %q: it prints nothing: %.800s", p, p.cmd.Env, p.complaints())
		}
	}
	s.measured("%d runs in 10 environments: exit 0 each", len(runs))
}

// insane finds numbers in a report that no watch of some seconds can give.
var insane = regexp.MustCompile(`-[0-9]+(\.[0-9]+)? (s|ms|h)\b|e\+[0-9]{2}|NaN|Inf`)

// sane watches a job with 20 batches a second for some seconds and holds the report to that. It returns the pace in
// words.
func (s *stand) sane(what string, trainer int, program []string) string {
	s.Helper()
	path := s.in("report.json")
	p := s.under(program, []string{"diagnose", "--pid", strconv.Itoa(trainer), "--duration", "6s", "--warmup", "1s",
		"-o", path})
	p.ends(time.Minute, 0)
	r := s.report(path)
	got, ok := pace(r)
	if !ok || got < 5 || got > 21 {
		s.Errorf("%s: %.2f batches a second (%t), the job makes less than 20: %s", what, got, ok, said(r))
	}
	if r.Window == nil || r.Window.DurationS <= 0 || r.Window.DurationS > 7 {
		s.Errorf("%s: the window is %+v", what, r.Window)
	}
	if bad := insane.Find(p.output()); bad != nil {
		s.Errorf("%s: the report says %q", what, bad)
	}
	return fmt.Sprintf("%s: %.1f batches/s", what, got)
}

func timeNamespaces(s *stand) {
	j := steady{batches: 180, step: 50 * time.Millisecond, item: time.Millisecond, workers: 2, epoch: 90}
	ahead := func(boot, monotonic int) string {
		return fmt.Sprintf("--time --fork --boottime %d --monotonic %d", boot, monotonic)
	}
	var paces []string
	for _, shift := range []struct{ what, job, own string }{
		{"the job 30 days ahead", ahead(2592000, 2592000), ""},
		{"pipetune 10 years ahead", "", ahead(315360000, 315360000)},
		{"both, each its own", ahead(86400, 3600), ahead(315360000, 86400)},
	} {
		argv, own := j.argv(s), []string(nil)
		if shift.job != "" {
			argv = append(append([]string{"unshare"}, strings.Fields(shift.job)...), argv...)
		}
		if shift.own != "" {
			own = inNamespace(shift.own, "")
		}
		c := s.start("job", argv)
		c.awaitLines(2)
		trainer := c.pid()
		for _, pid := range workersOf(c) {
			if statusNumber(pid, "PPid") == int64(c.pid()) && shift.job != "" {
				trainer = pid
			}
		}
		paces = append(paces, s.sane(shift.what, trainer, own))
		j.unharmed(s, c)
	}
	s.measured("%s", strings.Join(paces, ", "))
}

func movedBootTime(s *stand) {
	s.ownMounts()
	j := steady{batches: 900, step: 50 * time.Millisecond, item: time.Millisecond, workers: 2, epoch: 90}
	c := j.start(s)
	text := must.Get(os.ReadFile("/proc/stat"))(s)
	moved := s.in("stat")
	var paces []string
	for _, btime := range []string{"0", "4102444800", "18446744073709551615", "-1"} {
		s.write(moved, regexp.MustCompile(`(?m)^btime .*$`).ReplaceAllString(string(text), "btime "+btime))
		paces = append(paces, s.sane("btime "+btime, c.pid(), inNamespace("--mount", "mount --bind "+moved+
			" /proc/stat")))
	}
	s.measured("%s", strings.Join(paces, ", "))
	j.unharmed(s, c)
}

func failingMount(s *stand) {
	s.ownMounts()
	content := make([]byte, 4<<20)
	for i := range content {
		content[i] = byte(i * 7)
	}
	type run struct {
		fault  string
		errno  syscall.Errno
		n      int
		always bool
		mount  mounted
		p      *command
	}
	var runs []run
	for _, r := range []run{{fault: "EIO", errno: syscall.EIO}, {fault: "ESTALE", errno: syscall.ESTALE},
		{fault: "half an answer"}} {
		for _, r.n = range []int{1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 200} {
			for _, r.always = range []bool{true, false} {
				runs = append(runs, r)
			}
		}
	}
	told, refused, clean := 0, 0, 0
	for batch := range slices.Chunk(runs, 12) {
		for i := range batch {
			r := &batch[i]
			r.mount = s.mount()
			r.mount.Serve(content)
			r.mount.Break(hungmount.Fault{Op: hungmount.Read, Nth: r.n, Errno: r.errno,
				Times: map[bool]int{true: 0, false: 1}[r.always]})
			r.p = s.pipetune([]string{"bench-io", filepath.Join(r.mount.dir, hungmount.File), "--budget", "2s",
				"--python", "none", "--workers", "1"})
		}
		for _, r := range batch {
			what := fmt.Sprintf("%s at read %d, from there on: %t", r.fault, r.n, r.always)
			status, complaints := r.p.exit(5*time.Minute), r.p.complaints()
			words := complaints + string(r.p.output())
			switch {
			case crashed(complaints):
				s.Errorf("%s: it crashed: %.1500s", what, complaints)
			case status == 3 && strings.Contains(complaints, "pipetune: error: "):
				refused++
			case status != 0:
				s.Errorf("%s: exit %d: %.800s", what, status, complaints)
			case regexp.MustCompile("input/output error|stale|could not be read|failed").MatchString(words):
				told++
			default:
				// of the faults that stay, none may pass in silence; short answers are asked for again
				if r.always && r.errno != 0 {
					s.Errorf("%s: a report that says nothing of it:\n%.3000s", what, words)
				}
				clean++
			}
			r.mount.release()
			r.p.alone()
		}
	}
	s.measured("%d runs: %d reports that tell what failed, %d refused with exit 3 and the reason, %d that met "+
		"nothing they could not read again", len(runs), told, refused, clean)
}
