//go:build reliability

package reliability

import (
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/pipetune/pipetune/internal/must"
)

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
