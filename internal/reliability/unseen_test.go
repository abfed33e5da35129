//go:build reliability

package reliability

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/pipetune/pipetune/internal/isolate/hungmount"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/recording"
)

var unseenTrials = []trial{
	{
		id: "F10-files", fault: "a file of /proc or /sys cannot be opened",
		made: "a FUSE file that answers EACCES, EPERM or ESRCH is mounted over each of 29 files, one at a time, in " +
			"a mount namespace of that watch's own",
		target: "exit 0 or 3, no crash; each signal that is lost is named, with its reason, once; at most one line " +
			"on stderr of a kind", run: unreadableFiles,
	},
	{
		id: "F10-hidepid", fault: "/proc hides other users' processes",
		made:   "/proc mounted with hidepid=1, 2 and 4, and subset=pid; pipetune as another user than the job's",
		target: "exit 3 and who may look, or what hides the job, is said", run: hiddenProcesses,
	},
	{
		id: "F10-dumpable", fault: "the job may not be looked into",
		made:   "prctl(PR_SET_DUMPABLE, 0) in a job of the same user, who is not root",
		target: "exit 3 with the way to look all the same, or a report that says what is lost", run: undumpable,
	},
	{
		id: "F10-namespace", fault: "numbers of a nested pid namespace collide with pipetune's",
		made:   "the job in a pid namespace, another process outside under each number that the job has inside",
		target: "watched by its outer number: every process in the recording is the job's, by NSpid and start time",
		run:    collidingNumbers,
	},
	{
		id: "F10-userns", fault: "the job is in a user namespace",
		made:   "unshare --user --map-root-user around the job",
		target: "the job is watched, or what is lost is said; exit 0 or 3", run: userNamespace,
	},
}

// overProcess are the files of a process, and overMachine those of the machine, that a watch reads.
var (
	overProcess = []string{"stat", "status", "io", "statm", "schedstat", "cmdline", "comm", "environ", "maps", "cgroup",
		"mountinfo", "fd", "task/SELF/stat", "task/SELF/syscall", "task/SELF/wchan", "task/SELF/children",
		"task/SELF/status"}
	overMachine = []string{"/proc/stat", "/proc/meminfo", "/proc/vmstat", "/proc/diskstats", "/proc/swaps",
		"/proc/uptime", "/proc/cpuinfo", "/proc/pressure/cpu", "/proc/pressure/io", "/proc/pressure/memory",
		"/sys/devices/system/cpu"}
)

func unreadableFiles(s *stand) {
	s.ownMounts()
	c := steady{batches: 4000, step: 50 * time.Millisecond, item: time.Millisecond, workers: 1, epoch: 100000}.start(s)
	pid := strconv.Itoa(c.pid())
	var files []string
	for _, f := range overProcess {
		files = append(files, "/proc/"+pid+"/"+strings.ReplaceAll(f, "SELF", pid))
	}
	files = append(files, overMachine...)
	watch := func(name string, program ...string) *command {
		return s.under(program, watchOf(c, "6s", "--warmup", "0s", "-o", s.in(name+".jsonl"), "-o", s.in(name+".json")))
	}
	if watch("clean").ends(5*time.Minute, 0) != 0 {
		s.FailNow()
	}
	whole := signalsOf(s.recording(s.in("clean.jsonl")))
	type run struct {
		name, file, from string // from is mounted over the file
		p                *command
	}
	var runs []run
	for name, errno := range map[string]syscall.Errno{"EACCES": syscall.EACCES, "EPERM": syscall.EPERM,
		"ESRCH": syscall.ESRCH} {
		m := s.mount()
		defer m.release()
		m.Break(hungmount.Fault{Op: hungmount.Open, Errno: errno}, hungmount.Fault{Op: hungmount.Opendir, Errno: errno},
			hungmount.Fault{Op: hungmount.Read, Errno: errno})
		for _, file := range files {
			info, err := os.Stat(file)
			if err != nil {
				s.Logf("not here: %v", err)
				continue
			}
			from := filepath.Join(m.dir, hungmount.File)
			if info.IsDir() {
				from = filepath.Join(m.dir, hungmount.Folder)
			}
			runs = append(runs, run{name: name + strings.ReplaceAll(file, "/", "-"), file: file, from: from})
		}
	}
	refused, lost, unnamed, ended := 0, 0, 0, 0
	for batch := range slices.Chunk(runs, 15) {
		for i, r := range batch {
			batch[i].p = watch(r.name, inNamespace("--mount", "mount --bind "+r.from+" "+r.file)...)
		}
		for _, r := range batch {
			if status := r.p.ends(5*time.Minute, 0, 3); status != 0 && status != 3 {
				continue
			}
			complaints := r.p.complaints()
			kinds := map[string]bool{}
			for line := range strings.Lines(complaints) {
				if kinds[line] {
					s.Errorf("%s: said twice: %s", r.name, line)
				}
				kinds[line] = true
			}
			recorded := s.in(r.name + ".jsonl")
			if _, err := os.Stat(recorded); errors.Is(err, fs.ErrNotExist) {
				refused++
				if !strings.Contains(complaints, "pipetune: error: ") {
					s.Errorf("%s: no recording and no reason: %s", r.name, complaints)
				}
				continue
			}
			rec := s.recording(recorded)
			seen := signalsOf(rec)
			for signal := range whole {
				if seen[signal] {
					continue
				}
				if slices.Contains(lateSignals, signal) && seen[metric.LoaderTensors.Name] {
					continue // not lost: six seconds were too short
				}
				lost++
				if strings.HasPrefix(r.name, "ESRCH-proc-"+pid) {
					ended++ // the kernel's word for a process that has ended, and taken for that
					continue
				}
				if !slices.ContainsFunc(rec.Unseen, func(u recording.Unseen) bool {
					return names(u.Signal, signal) && u.Reason != ""
				}) {
					unnamed++
					s.Errorf("%s: %s is lost and nobody says so", r.name, signal)
				}
			}
			said := map[string]bool{}
			for _, u := range rec.Unseen {
				key := u.Signal + "|" + u.Entity
				if said[key] && !strings.HasPrefix(r.name, "ESRCH") {
					s.Errorf("%s: %s of %q is said to be unseen twice", r.name, u.Signal, u.Entity)
				}
				said[key] = said[key] || u.Entity == ""
			}
		}
	}
	s.measured("%d watches, each without one file: %d refused with a reason, %d signals lost: %d of them not named, "+
		"%d taken for those of a process that has ended", len(runs), refused, lost, unnamed, ended)
}

// lateSignals are those that are reported only after enough batches have passed to tell how many tensors make one,
// which a busy machine puts off.
var lateSignals = []string{metric.LoaderBatches.Name, metric.LoaderBatchBytes.Name, metric.LoaderTensorsPer.Name}

// signalsOf is the set of signals that a recording holds.
func signalsOf(rec *recording.Recording) map[string]bool {
	set := map[string]bool{}
	for _, series := range rec.Series {
		set[series.Metric] = true
	}
	return set
}

// names says whether a note's signal, a name or a prefix with a star, means this one.
func names(note, signal string) bool {
	prefix, starred := strings.CutSuffix(note, "*")
	return note == signal || starred && strings.HasPrefix(signal, prefix)
}

// everybody copies pipetune to where another user may execute it, and gives that user the trial's folders.
func (s *stand) everybody() {
	s.Helper()
	path := s.in("pipetune")
	s.write(path, string(must.Get(os.ReadFile(s.binary))(s)))
	s.binary = path
	for _, dir := range []string{s.work, s.home, s.tmp, s.runtime} {
		must.Do(s, os.Chown(dir, nobody, nobody))
	}
}

func hiddenProcesses(s *stand) {
	s.everybody()
	c := s.start("job", []string{"sleep", "600"})
	for _, option := range []string{"hidepid=0", "hidepid=1", "hidepid=2", "hidepid=4", "subset=pid"} {
		p := s.under(append(inNamespace("--mount", "mount -t proc -o "+option+" proc /proc"), "setpriv",
			"--reuid=65534", "--regid=65534", "--clear-groups"), watchOf(c, "6s"))
		status, said := p.ends(time.Minute, 3), p.complaints()
		if !strings.Contains(said, "pipetune: error: ") || !strings.Contains(said, "pipetune: hint: ") {
			s.Errorf("%s: exit %d: %s", option, status, said)
		}
		if hidden := strings.HasPrefix(option, "hidepid=") && option != "hidepid=0"; hidden &&
			!strings.Contains(said, "hidepid=") {
			s.Errorf("%s: nothing is said of it: %s", option, said)
		}
		s.measured("%s: exit %d, %s", option, status, firstLine(said))
	}
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return strings.TrimPrefix(line, "pipetune: error: ")
}

func undumpable(s *stand) {
	s.everybody()
	c := s.start("job", []string{s.python, "-c", "import ctypes, time; ctypes.CDLL(None).prctl(4, 0); print('ready', " +
		"flush=True); time.sleep(600)"}, asNobody)
	c.awaitLines(1)
	p := s.pipetune(watchOf(c, "6s"), asNobody)
	status, said := p.ends(time.Minute, 3), p.complaints()
	if !strings.Contains(said, "sudo pipetune diagnose") {
		s.Errorf("exit %d: %s", status, said)
	}
	s.measured("exit %d, %s", status, firstLine(said))
}

func collidingNumbers(s *stand) {
	j := steady{batches: 200, step: 50 * time.Millisecond, item: time.Millisecond, workers: 2, epoch: 400}
	argv := append([]string{"unshare", "--pid", "--fork", "--mount-proc", "--kill-child"}, j.argv(s)...)
	c := s.start("job", argv)
	c.awaitLines(2)
	s.until(time.Minute, "the job has workers", func() bool { return len(workersOf(c)) >= 3 })
	trainer := 0
	inside := map[int]int{} // outer number → inner
	for _, pid := range workersOf(c) {
		inside[pid] = int(statusNumber(pid, "NSpid"))
		if inside[pid] == 1 {
			trainer = pid
		}
	}
	if trainer == 0 {
		s.Fatalf("no process is number 1 inside: %v", inside)
	}
	recorded := s.in("run.jsonl")
	p := s.pipetune([]string{"diagnose", "-q", "--pid", strconv.Itoa(trainer), "--duration", "6s", "-o", recorded})
	status := p.wait(time.Minute)
	rec := s.recording(recorded)
	if status != 0 || !rec.Header.Job.Container || rec.Header.Job.PID != trainer {
		s.Errorf("exit %d, job %+v", status, rec.Header.Job)
	}
	workers := 0
	for _, e := range rec.Events {
		id, ok := processOf(e.Entity)
		if !ok {
			continue
		}
		inner, ours := inside[id.PID]
		if !ours {
			s.Errorf("%s of %s, which is not the job's", e.Kind, e.Entity)
		}
		if e.Attrs["role"] == "worker" && inner > 1 {
			workers++
		}
	}
	if workers < 2 {
		s.Errorf("%d workers are known, the job has 2", workers)
	}
	tensors := false
	for _, series := range rec.Series {
		tensors = tensors || series.Metric == "loader_tensors" && len(series.Points) > 1 &&
			series.Points[len(series.Points)-1].Value > 0
	}
	if !tensors {
		s.missed("its batches were not counted")
	}
	s.measured("the trainer, %d here and 1 inside, and its %d workers, 2 and up inside: all and nobody else", trainer,
		workers)
	j.unharmed(s, c)
}

func userNamespace(s *stand) {
	j := steady{batches: 200, step: 50 * time.Millisecond, item: time.Millisecond, workers: 2}
	c := s.start("job", append([]string{"unshare", "--user", "--map-root-user"}, j.argv(s)...))
	c.awaitLines(2)
	report := s.in("report.json")
	p := s.watch(c, report, "6s")
	if p.ends(time.Minute, 0); !s.readsAgain(report) {
		s.Errorf("no report: %s", p.complaints())
	}
	r := s.report(report)
	s.measured("exit 0, verdict %s, %d signals", r.Verdict.Class, len(r.Metrics))
	j.unharmed(s, c)
}
