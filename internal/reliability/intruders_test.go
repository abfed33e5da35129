//go:build reliability

package reliability

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/pkg/report"
)

var intruderTrials = []trial{
	{id: "A1", fault: "another user attacks the hook's folder and socket",
		made: "a process of uid 65534 in the shared TMPDIR, as long as the job runs: connect, send, open, unlink, " +
			"rename, swap for a link, make folders of such names, 10,000 connects",
		target: "0 effects, the job unharmed, the hook heard", run: socketIntruder},
	{id: "A1-same", fault: "the same user sends to the hook's socket from outside the job",
		made:   "1,000 datagrams with a well-formed hello from a process beside the job",
		target: "all refused, counted and told; the job unharmed", run: socketStranger},
	{id: "A2", fault: "another user races for output files in a shared folder",
		made: "uid 65534 replaces names and temporary files by symbolic and hard links, and renames them, for 10 s " +
			"and at least 200 reports written by root into folders of mode 0777 and 1777",
		target: "0 writes outside, files 0600", run: func(s *stand) { outputRaces(s, 10*time.Second, 200) }},
	{id: "A2-long", fault: "another user races for output files in a shared folder",
		made: "as A2, for 60 s and at least 1,000 reports", target: "0 writes outside, files 0600", long: true,
		run: func(s *stand) { outputRaces(s, time.Minute, 1000) }},
	{id: "A3", fault: "things planted in the current folder", made: "libnvidia-ml.so.1, sitecustomize.py, python3, " +
		"h5repack, dpkg, .pipetune.yaml and others that leave a marker, with `.` and an empty entry on PATH: every " +
		"command",
		target: "no marker; no RPATH or RUNPATH in the binary", run: planted3},
}

// nobody is the uid of another user, with no rights.
const nobody = 65534

// asNobody runs a program as another user, where everybody may be.
func asNobody(cmd *exec.Cmd) {
	cmd.Dir = "/"
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
}

// shared makes a folder that everybody can write to, and lets everybody come to it.
func (s *stand) shared(name string, mode os.FileMode) string {
	s.Helper()
	dir := s.folder(name)
	must.Do(s, errors.Join(os.Chmod(dir, mode), os.Chmod(s.work, 0o711)))
	return dir
}

// intruder attacks every folder of pipetune's in a shared one until the file stop is there, and prints how often it
// tried and what came of it.
const intruder = `
import errno, json, os, socket, sys, random
shared, stop, python = sys.argv[1:]
tried, done, seen = {}, {}, set()
def attempt(what, act):
    tried[what] = tried.get(what, 0) + 1
    try:
        act()
    except (OSError, ValueError):
        return
    done[what] = done.get(what, 0) + 1
def send(path):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        s.sendto(b'{"v":1}', path)
    finally:
        s.close()
def connect(path):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        s.connect(path)
    finally:
        s.close()
for n in random.sample(range(2**32), 2000):
    try:
        os.mkdir(shared + "/pipetune-%d" % n, 0o777) if n % 2 else os.symlink("/etc", shared + "/pipetune-%d" % n)
    except OSError:
        pass
mine = set(os.listdir(shared))
print("up", flush=True)
while not os.path.exists(stop):
    for name in os.listdir(shared):
        if name in mine or not name.startswith("pipetune-"):
            continue
        seen.add(name)
        d = shared + "/" + name
        sock = d + "/socket"
        for _ in range(50):
            attempt("connect", lambda: connect(sock))
        attempt("send", lambda: send(sock))
        attempt("list", lambda: os.listdir(d))
        attempt("unlink", lambda: os.unlink(sock))
        attempt("open", lambda: open(d + "/" + python + "/sitecustomize.py").close())
        attempt("write", lambda: open(d + "/" + python + "/sitecustomize.py", "w").close())
        attempt("plant", lambda: open(d + "/" + python + "/evil.py", "w").close())
        attempt("chmod", lambda: os.chmod(d, 0o777))
        attempt("rename", lambda: os.rename(d, d + "-away"))
        attempt("swap", lambda: (os.rename(d, d + "-x"), os.symlink("/etc", d)))
        attempt("remove", lambda: os.rmdir(d))
print(json.dumps({"tried": tried, "done": done, "seen": len(seen)}), flush=True)
`

func socketIntruder(s *stand) {
	tmp := s.shared("common", 0o1777|os.ModeSticky)
	stop := filepath.Join(s.shared("signs", 0o755), "stop")
	thief := s.start("intruder", []string{"/usr/bin/python3", "-c", intruder, tmp, stop, folderOnPath}, asNobody)
	thief.awaitLines(1)
	j := steady{batches: 600, step: 10 * time.Millisecond, workers: 1}
	out := filepath.Join(s.folder("out"), "r.json")
	j.unharmed(s, s.pipetune(append([]string{"diagnose", "-o", out, "--"}, j.argv(s)...), func(cmd *exec.Cmd) {
		cmd.Env = append(cmd.Env, "TMPDIR="+tmp, "XDG_RUNTIME_DIR=")
	}))
	must.Do(s, os.WriteFile(stop, nil, 0o644))
	thief.wait(time.Minute)
	var told struct {
		Tried, Done map[string]int
		Seen        int
	}
	if err := json.Unmarshal([]byte(lastLine(string(thief.output()))), &told); err != nil {
		s.Fatalf("the intruder says %q: %v; %s", thief.output(), err, thief.complaints())
	}
	if told.Seen != 1 || told.Tried["connect"] < 10_000 {
		s.Errorf("the intruder saw %d folders and tried to connect %d times: too few", told.Seen, told.Tried["connect"])
	}
	if len(told.Done) > 0 {
		s.Errorf("the intruder succeeded with %v", told.Done)
	}
	s.heard(out)
	left, err := filepath.Glob(filepath.Join(tmp, "pipetune-*", "socket"))
	if err != nil || len(left) > 0 {
		s.Errorf("left in the shared folder: %v %v", left, err)
	}
	s.measured("%d connects and %d other attempts at 11 acts: %d succeeded; 2,000 folders and links of such names "+
		"stood there before", told.Tried["connect"], total(told.Tried)-told.Tried["connect"], total(told.Done))
}

func total(m map[string]int) (n int) {
	for _, x := range m {
		n += x
	}
	return n
}

// heard holds a report to be one that the hook has fed, and returns it.
func (s *stand) heard(path string) *report.Report {
	s.Helper()
	r := s.report(path)
	if !heard(r) {
		s.Errorf("the report is not the hook's: %+v %q", r.Job, r.Warnings)
	}
	return r
}

// stranger sends what a job would to every socket in a folder, a thousand times, and prints how often that was taken.
const stranger = `
import glob, os, socket, sys, time
sent = 0
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
while sent < 1000:
    for path in glob.glob(sys.argv[1] + "/pipetune-*/socket"):
        try:
            s.sendto(b'{"v":1,"token":"00000000000000000000000000000000","kind":"hello","pid":%d,"seq":%d,"at":1,"lost":0}' % (os.getpid(), sent), path)
            sent += 1
        except OSError:
            pass
    time.sleep(0.001)
print(sent, flush=True)
`

func socketStranger(s *stand) {
	other := s.start("stranger", []string{"/usr/bin/python3", "-c", stranger, s.runtime})
	j := steady{batches: 600, step: 10 * time.Millisecond, workers: 1}
	out := filepath.Join(s.folder("out"), "r.json")
	j.unharmed(s, s.pipetune(append([]string{"diagnose", "-o", out, "--"}, j.argv(s)...)))
	if status := other.wait(time.Minute); status != 0 {
		s.Fatalf("the stranger: %s", other.complaints())
	}
	told := 0
	for _, w := range s.heard(out).Warnings {
		if strings.Contains(w, "were refused") {
			if _, err := fmt.Sscanf(w, "%d messages", &told); err != nil {
				s.Errorf("%q: %v", w, err)
			}
		}
	}
	sent := must.Get(strconv.Atoi(strings.TrimSpace(string(other.output()))))(s)
	if told != sent {
		s.missed("%d of %d were counted by the end of the watch", told, sent)
	}
	if told == 0 {
		s.Errorf("nothing says that %d messages were refused", sent)
	}
	s.measured("%d datagrams sent, %d refused and told", sent, told)
}

// racer replaces what it finds in the shared folders by links to a victim, until the file stop is there.
const racer = `
import os, sys
victim, stop, names, *folders = sys.argv[1:]
tricks = done = 0
print("up", flush=True)
while not os.path.exists(stop):
    for d in folders:
        entries = os.listdir(d)
        for name in entries + ["out-%d.json" % i for i in range(int(names))][:20]:
            p = d + "/" + name
            tricks += 1
            for act in (lambda: (os.rename(p, p + ".stolen"), os.symlink(victim, p)), lambda: (os.unlink(p), os.symlink(victim, p)), lambda: os.symlink(victim, p),
                        lambda: os.link(victim, p), lambda: (os.unlink(p), os.mkdir(p)), lambda: os.rmdir(p), lambda: os.unlink(p)):
                try:
                    act()
                    done += 1
                except OSError:
                    pass
print(tricks, done, flush=True)
`

func outputRaces(s *stand, lasts time.Duration, least int) {
	open, sticky := s.shared("open", 0o777), s.shared("sticky", 0o1777|os.ModeSticky)
	signs := s.shared("signs", 0o755)
	victim, stop := filepath.Join(signs, "victim"), filepath.Join(signs, "stop")
	must.Do(s, os.WriteFile(victim, []byte("untouched"), 0o666))
	before := must.Get(os.Stat(victim))(s)
	fixture := s.testdata("reports/reopened.json")
	thief := s.start("racer", []string{"/usr/bin/python3", "-c", racer, victim, stop, "20", open, sticky}, asNobody)
	thief.awaitLines(1)
	written, refused, modes := 0, 0, 0
	for end := time.Now().Add(lasts); written+refused < least || time.Now().Before(end); {
		for _, dir := range []string{open, sticky} {
			path := filepath.Join(dir, fmt.Sprintf("out-%d.json", (written+refused)%20))
			cmd := exec.Command(s.binary, "report", "-q", fixture, "-o", path)
			cmd.Env = []string{"HOME=" + s.home, "TMPDIR=" + s.tmp, "PATH=/usr/bin:/bin"}
			out, err := cmd.CombinedOutput()
			switch code := cmd.ProcessState.ExitCode(); {
			case code == 0:
				written++
			case code == 2 && strings.Contains(string(out), path):
				refused++
			default:
				s.Fatalf("exit %d, %v: %.300s", code, err, out)
			}
			if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() &&
				info.Sys().(*syscall.Stat_t).Uid == 0 && info.Size() > 9 {
				if info.Mode().Perm() != 0o600 {
					s.Errorf("%s has mode %v", path, info.Mode())
				}
				modes++
			}
		}
	}
	must.Do(s, os.WriteFile(stop, nil, 0o644))
	thief.wait(time.Minute)
	after, err := os.Stat(victim)
	text, err2 := os.ReadFile(victim)
	if err != nil || err2 != nil || string(text) != "untouched" || after.ModTime() != before.ModTime() ||
		after.Mode() != before.Mode() {
		s.Errorf("the victim was written to: %q, %v, %v %v", text, after, err, err2)
	}
	s.measured("%d reports written, %d refused with a message, %d files looked at have mode 0600; the other user "+
		"says (tricks, of these done): %s; 0 writes outside",
		written, refused, modes, strings.ReplaceAll(strings.TrimSpace(string(thief.output())), "up\n", ""))
}

func planted3(s *stand) {
	trap, marker := s.folder("trap"), s.in("marker")
	plant := func(names, text string) {
		for name := range strings.FieldsSeq(names) {
			s.write(filepath.Join(trap, name), text)
		}
	}
	plant("python python3 h5repack dpkg nvidia-smi sh bash ldconfig find tar patch git less pager xdg-open lsblk "+
		"systemd-detect-virt", "#!/bin/sh\necho $0 >>"+marker+"\n")
	plant("sitecustomize.py usercustomize.py torch.py h5py.py numpy.py PIL.py json.py pipetune_hook.py",
		fmt.Sprintf("open(%q, 'a').write(__file__ + '\\n')\n", marker))
	plant(".pipetune.yaml .pipetune.json .piperc .env", "duration: 1000h\nPIPETUNE_FORMAT=nonsense\n")
	for _, library := range []string{"libnvidia-ml.so.1", "libnvidia-ml.so"} {
		s.markingLibrary(filepath.Join(trap, library), marker)
	}
	for _, library := range []string{"libhdf5.so", "libc.so.6", "libm.so.6", "libz.so.1"} {
		s.markingLibrary(filepath.Join(trap, library), marker, "-nostdlib")
	}
	pictures := s.folder("pictures")
	for i := range 8 {
		s.write(filepath.Join(pictures, strconv.Itoa(i)+".png"), string(tinyPNG(s)))
	}
	fixture := s.testdata("reports/reopened.json")
	inTrap := func(cmd *exec.Cmd) {
		cmd.Dir = trap
		cmd.Env = append(cmd.Env, "PATH=.::/usr/local/bin:/usr/bin:/bin")
	}
	script := s.in("train.py")
	s.write(script, "import time\nfrom torch.utils.data import DataLoader\nfor e in range(2):\n    for b in "+
		"DataLoader(list(range(300)), batch_size=2, num_workers=1):\n        time.sleep(0.02)\n")
	job := steady{batches: 4000, step: 10 * time.Millisecond, workers: 1}.start(s)
	bench := []string{"bench-io", "--budget", "5s", "--workers", "1", "--no-cold", pictures}
	runs, sprung := 0, 0
	for _, args := range [][]string{
		{"version"}, {"doctor"}, {"explain"}, {"report", fixture}, bench, append(bench, "--try", "--python", "none"),
		watchOf(job, "6s"), {"diagnose", "-o", filepath.Join(s.folder("out"), "fix.patch"), "--", s.python, script},
	} {
		s.pipetune(args, inTrap).ends(5*time.Minute, 0)
		runs++
		if text, err := os.ReadFile(marker); err == nil {
			sprung++
			s.Errorf("%q runs what lies in the current folder: %s", args, text)
			must.Do(s, os.Remove(marker))
		}
	}
	job.kill()
	traps := must.Get(os.ReadDir(trap))(s)
	// The one file that is read of a folder on purpose must not name a program.
	plant("pipetune.toml", "[bench-io]\npython = './python3'\n")
	c := s.pipetune(bench, inTrap)
	if c.ends(time.Minute, 2); !strings.Contains(c.complaints(), "bench-io.python: not for a folder") {
		s.Errorf("a folder's settings that name a program: %s", c.complaints())
	}
	if text, err := os.ReadFile(marker); err == nil {
		s.Errorf("the folder's settings ran %s", text)
	}
	dynamic := string(must.Get(exec.Command("readelf", "-dW", s.binary).Output())(s))
	if strings.Contains(dynamic, "RPATH") || strings.Contains(dynamic, "RUNPATH") {
		s.Errorf("the binary carries a search path: %s", dynamic)
	}
	s.measured("%d commands in a folder with %d traps, %d sprung one; its settings may not name a program; no RPATH, "+
		"no RUNPATH", runs, len(traps), sprung)
}
