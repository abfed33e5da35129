//go:build reliability

package reliability

import (
	"bufio"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/must"
)

// conduct is what a run of pipetune may do, for the check of all its system calls.
type conduct struct {
	outputs []string // files it was told to write; temporary names of them begin with a point and their own
	folder  string   // of the job's data
	self    int      // its process
}

// traced is one line of `strace -f -y`; resumed is the end of a call that another thread's line cut in two.
var (
	traced  = regexp.MustCompile(`^(\d+) +(\w+)\((.*)$`)
	resumed = regexp.MustCompile(`^(\d+) +<\.\.\. (\w+) resumed>(.*)$`)
)

// breaches lists what is forbidden beside a job, in the calls of `strace -f -y`: a line each.
func (c conduct) breaches(trace io.Reader) (found []string, calls int, err error) {
	family := map[int]bool{c.self: true}
	lines := bufio.NewScanner(trace)
	lines.Buffer(nil, 1<<20)
	check := func(text, pid, call, args string) {
		calls++
		number, _ := strconv.Atoi(pid) // of digits
		family[number] = true
		if why := c.breach(call, args, family); why != "" {
			found = append(found, why+": "+text)
		}
	}
	begun := map[string][]string{} // the first halves of calls that were cut in two, by thread
	for lines.Scan() {
		text := lines.Text()
		if m := resumed.FindStringSubmatch(text); m != nil && begun[m[1]] != nil {
			check(text, m[1], m[2], begun[m[1]][3]+m[3])
			delete(begun, m[1])
		} else if m := traced.FindStringSubmatch(text); m != nil {
			first, cut := strings.CutSuffix(m[3], "<unfinished ...>")
			if m[3] = first; cut {
				begun[m[1]] = m
				continue
			}
			check(text, m[1], m[2], m[3])
		}
	}
	for _, m := range begun { // nothing came of these
		check(m[0], m[1], m[2], m[3])
	}
	return found, calls, lines.Err()
}

// never are calls that are forbidden whatever their arguments.
var never = map[string]bool{"ptrace": true, "process_vm_writev": true, "flock": true, "setxattr": true,
	"lsetxattr": true, "fsetxattr": true, "listen": true, "truncate": true, "chmod": true, "fchmodat": true,
	"chown": true, "fchownat": true, "utimensat": true, "mkdir": true, "rmdir": true, "link": true,
	"symlink": true, "mount": true, "umount2": true, "sched_setaffinity": true, "ioprio_set": true,
	"process_madvise": true}

var (
	quoted = regexp.MustCompile(`^(?:AT_FDCWD(?:<[^>]*>)?|-?\d+(?:<[^>]*>)?), "((?:[^"\\]|\\.)*)"`)
	pidfd  = regexp.MustCompile(`^\d+<pid:(\d+)>`)
	first  = regexp.MustCompile(`^-?\d+`)
)

// breach says what is wrong with one call; "" when nothing is.
func (c conduct) breach(call, args string, family map[int]bool) string {
	switch {
	case never[call]:
		return call
	case slices.Contains([]string{"kill", "tkill", "tgkill", "pidfd_send_signal"}, call):
		if call == "pidfd_send_signal" {
			m := pidfd.FindStringSubmatch(args) // strace -y says whose it is
			if m == nil {
				return "a signal to nobody knows whom"
			}
			args = m[1] + args[strings.IndexByte(args, '>')+1:]
		}
		asks := call != "pidfd_send_signal" && strings.Contains(args, ", 0)") // signal 0: whether it is there
		if to, err := strconv.Atoi(first.FindString(args)); err == nil && !family[to] && !asks {
			return "a signal to a stranger"
		}
	case slices.Contains([]string{"open", "openat", "creat", "openat2"}, call):
		if call == "open" {
			args = "AT_FDCWD, " + args
		}
		m := quoted.FindStringSubmatch(args)
		if m != nil && strings.ContainsAny(args, "|_") && (strings.Contains(args, "O_WRONLY") ||
			strings.Contains(args, "O_RDWR") || strings.Contains(args, "O_CREAT")) && !c.mayWrite(m[1]) {
			return "an open for writing"
		}
	case call == "fadvise64" || call == "posix_fadvise":
		if strings.Contains(args, "<"+c.folder) {
			return "advice on the job's file"
		}
	case call == "process_vm_readv":
		if strings.Count(args, "iov_len=4}") != 2 || strings.Count(args, "iov_len=") != 2 {
			return "a read of more than one descriptor"
		}
	case call == "fcntl":
		if strings.Contains(args, "F_SETLK") || strings.Contains(args, "F_SETLEASE") ||
			strings.Contains(args, "F_OFD_SETLK") {
			return "a lock"
		}
	case call == "connect" || call == "bind" || call == "sendto":
		if strings.Contains(args, "sa_family=") && !strings.Contains(args, "sa_family=AF_UNIX") {
			return "another machine"
		}
	case call == "socket":
		if !strings.HasPrefix(args, "AF_UNIX") {
			return "another machine"
		}
	case call == "unlink" || call == "unlinkat" || call == "rename" || call == "renameat" || call == "renameat2":
		for _, part := range regexp.MustCompile(`"((?:[^"\\]|\\.)*)"`).FindAllStringSubmatch(args, -1) {
			if !c.mayWrite(part[1]) {
				return "another file's name"
			}
		}
	}
	return ""
}

// mayWrite says whether a path is one of the outputs, its temporary name, or of the process itself.
func (c conduct) mayWrite(path string) bool {
	if path == "/dev/null" || path == "/proc/self/oom_score_adj" || strings.HasPrefix(path, "/dev/nvidia") {
		return true
	}
	for _, out := range c.outputs {
		folder, name := out[:strings.LastIndexByte(out, '/')+1], out[strings.LastIndexByte(out, '/')+1:]
		if path == out || path == name || strings.HasPrefix(path, folder+"."+name) ||
			strings.HasPrefix(path, "."+name) {
			return true
		}
	}
	return false
}

// TestBreachesAreSeen plants each thing that is forbidden among lines of a clean run.
func TestBreachesAreSeen(t *testing.T) {
	c := conduct{outputs: []string{"/tmp/out/run.json"}, folder: "/data", self: 100}
	clean := `100 openat(AT_FDCWD</tmp>, "/proc/77/stat", O_RDONLY|O_CLOEXEC) = 5</proc/77/stat>
100 clone(child_stack=0x7f, flags=CLONE_VM|SIGCHLD <unfinished ...>
101 openat(AT_FDCWD</>, "/dev/null", O_RDWR|O_CLOEXEC) = 6</dev/null>
101 openat(AT_FDCWD</>, "/proc/self/oom_score_adj", O_WRONLY|O_CREAT|O_TRUNC|O_CLOEXEC, 000) = 5
100 kill(101, SIGTERM) = 0
100 pidfd_send_signal(9<pid:101>, SIGKILL, NULL, 0) = 0
100 tgkill(100, 102, SIGURG) = 0
100 openat(7</tmp/out>, ".run.json.partial-1", O_RDWR|O_CREAT|O_EXCL, 0600) = 8
100 renameat(7</tmp/out>, ".run.json.partial-1", 7</tmp/out>, "run.json") = 0
101 fadvise64(9</other/x>, 0, 0, POSIX_FADV_RANDOM) = 0
101 socket(AF_UNIX, SOCK_STREAM, 0) = 5
101 read(3<pipe:[1]>, "text, with kill(77, SIGKILL)", 100) = 28
102 process_vm_readv(77,  <unfinished ...>
102 <... process_vm_readv resumed>[{iov_base="\3\0\0\0", iov_len=4}], 1, [{iov_base=0x7f, iov_len=4}], 1, 0) = 4
101 process_vm_readv(77, [{iov_base="\3\0\0\0", iov_len=4}], 1, [{iov_base=0x7f, iov_len=4}], 1, 0) = 4
`
	found, calls, err := c.breaches(strings.NewReader(clean))
	if len(found) > 0 || calls != 14 || err != nil {
		t.Fatalf("a clean run of %d calls: %q, %v", calls, found, err)
	}
	for _, planted := range []string{
		`100 ptrace(PTRACE_SEIZE, 77, NULL, 0) = 0`,
		`100 kill(77, SIGSTOP) = 0`,
		`100 pidfd_send_signal(9<pid:77>, SIGKILL, NULL, 0) = 0`,
		`100 pidfd_send_signal(9, SIGKILL, NULL, 0) = 0`,
		`101 process_vm_readv(77, [{iov_base=0x1, iov_len=8}], 1, [{iov_base=0x2, iov_len=8}], 1, 0) = 8`,
		`101 process_vm_readv(77, [{iov_base=0x1, iov_len=4}], 1, [{iov_base=0x2, iov_len=4}, {iov_base=0x3, iov_len=4}], 2, 0) = 4`,
		"102 openat(AT_FDCWD</>, \"/data/train.h5\", O_RDWR <unfinished ...>\n102 <... openat resumed>) = " +
			"5</data/train.h5>",
		`101 openat(AT_FDCWD</>, "/data/train.h5", O_RDWR) = 5</data/train.h5>`,
		`101 openat(AT_FDCWD</>, "/tmp/else", O_WRONLY|O_CREAT, 0600) = 5`,
		`101 open("/tmp/else", O_WRONLY|O_CREAT, 0600) = 5`,
		`101 flock(5</data/train.h5>, LOCK_SH|LOCK_NB) = 0`,
		`101 fcntl(5</data/train.h5>, F_SETLK, {l_type=F_RDLCK}) = 0`,
		`101 fsetxattr(5</data/train.h5>, "user.x", "x", 1, 0) = 0`,
		`101 fadvise64(5</data/train.h5>, 0, 0, POSIX_FADV_DONTNEED) = 0`,
		`100 listen(5<socket:[1]>, 128) = 0`,
		`100 connect(5<socket:[1]>, {sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr("10.0.0.1")}, 16) = 0`,
		`100 socket(AF_INET6, SOCK_DGRAM, 0) = 5`,
		`101 unlinkat(AT_FDCWD</>, "/data/train.h5", 0) = 0`,
		`100 rename("/data/a", "/data/b") = 0`,
	} {
		got, _, err := c.breaches(strings.NewReader(clean + planted + "\n"))
		if err != nil || len(got) != 1 {
			t.Errorf("%s: found %q, %v", planted, got, err)
			continue
		}
		_, line, _ := strings.Cut(got[0], ": ")
		planted = planted[strings.LastIndexByte(planted, '\n')+1:]
		if diff := cmp.Diff(planted, line); diff != "" {
			t.Error(diff)
		}
	}
}

var harmlessTrials = []trial{
	{
		id: "H3", fault: "a watch that does more than look",
		made: "all of `diagnose --pid` with two outputs beside a real job, each system call seen by strace -f",
		target: "no ptrace, lock, attribute or mode; of the job's memory no more than the descriptor a thread polls, " +
			"four bytes at a time; no signal but to its own; nothing opened for writing but outputs; no advice on " +
			"the job's files; no socket but AF_UNIX, none listens; the job is untouched", run: everyCall,
	},
}

// watchedCalls are those that the check looks at; strace leaves all others alone.
const watchedCalls = "ptrace,process_vm_readv,process_vm_writev,flock,fcntl,setxattr,lsetxattr,fsetxattr,listen," +
	"truncate,chmod,fchmodat,chown,fchownat,utimensat,mkdir,rmdir,link,symlink,mount,umount2,sched_setaffinity," +
	"ioprio_set,process_madvise,kill,tkill,tgkill,pidfd_send_signal,open,openat,openat2,creat," +
	"fadvise64,connect,bind,sendto,socket,unlink,unlinkat,rename,renameat,renameat2,execve"

func everyCall(s *stand) {
	j := steady{batches: 1500, step: 20 * time.Millisecond, workers: 2}
	job := j.start(s)
	report, recording, trace := s.in("run.json"), s.in("run.jsonl"), s.in("trace")
	p := s.under([]string{"strace", "-f", "-qq", "--seccomp-bpf", "--decode-fds=path,pidfd", "-o", trace, "-e",
		"trace=" + watchedCalls}, watchOf(job, "8s", "-q", "-o", recording, "-o", report))
	p.ends(5*time.Minute, 0)
	text := string(must.Get(os.ReadFile(trace))(s))
	number, _, _ := strings.Cut(text, " ")
	self, err := strconv.Atoi(number)
	if err != nil {
		s.Fatalf("strace's first line: %v", err)
	}
	c := conduct{outputs: []string{report, recording}, folder: s.testdata("reliability"), self: self}
	found, calls, err := c.breaches(strings.NewReader(text))
	must.Do(s, err)
	for _, line := range found {
		s.Errorf("%.300s", line)
	}
	if calls < 100 || !strings.Contains(text, "execve(") || !strings.Contains(text, "O_WRONLY") {
		s.Errorf("strace saw only %d calls, and not all that a watch makes", calls)
	}
	s.measured("%d calls seen, %d forbidden", calls, len(found))
	j.unharmed(s, job)
}
