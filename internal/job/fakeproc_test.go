package job

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/procfs/fakeroot"
)

// proc is one process of a made-up /proc, with the lines as Linux 6.18 prints them.
type proc struct {
	pid, ppid int
	start     uint64
	state     string // "S" where empty
	comm      string
	kernel    bool // a thread of the kernel
	exe       string
	argv      []string
	caught    uint64
	uid       int
	inner     int // number in its own pid namespace; 0 = the same
	env       []string
	maps      []string
	threads   map[int]string
	fds       []string
}

const (
	python    = "/usr/bin/python3.11"
	inTrainer = 0x10000 | 0x2 // SIGCHLD and SIGINT, as seen on PyTorch 1.13.1 after the first iter()
	inWorker  = 0x44c0 | 0x2  // as seen in its workers
	torchLib  = "/opt/venv/lib/python3.11/site-packages/torch/lib/libtorch_cpu.so"
	spawnCode = "from multiprocessing.spawn import spawn_main; spawn_main(tracker_fd=5, pipe_handle=7)"
	fserver   = "from multiprocessing.forkserver import main; main(5, 7, ['__main__'])"
	trackCode = "from multiprocessing.resource_tracker import main;main(4)"
)

// machine is a made-up root that processes are born and die in.
type machine struct {
	fakeroot.Root
	procs map[int]proc
}

func newMachine(t testing.TB, procs ...proc) *machine {
	m := &machine{fakeroot.New(t), map[int]proc{}}
	for _, p := range procs {
		m.birth(p)
	}
	return m
}

func (m *machine) fs() procfs.FS { return procfs.FS{Root: m.Dir} }

func (m *machine) birth(p proc) {
	if p.state == "" {
		p.state = "S"
	}
	if p.comm == "" {
		p.comm = "python3"
	}
	if p.start == 0 {
		p.start = uint64(1000 + p.pid)
	}
	m.procs[p.pid] = p
	dir := fmt.Sprintf("proc/%d/", p.pid)
	flags := 0x400000 // PF_RANDOMIZE, of programs
	if p.kernel {
		flags = 0x208040 // as kthreadd has them
	}
	stat := fmt.Sprintf("%d (%s) %s %d 1 1 0 -1 %d 100 0 7 0 30 12 0 0 20 0 1 0 %d 1000000 500 "+
		"18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
		p.pid, p.comm, p.state, p.ppid, flags, p.start)
	inner := strconv.Itoa(p.pid)
	if p.inner != 0 {
		inner += "\t" + strconv.Itoa(p.inner)
	}
	status := fmt.Sprintf("Name:\t%s\nState:\t%s (x)\nPPid:\t%d\n"+
		"Uid:\t%[4]d\t%[4]d\t%[4]d\t%[4]d\nNSpid:\t%s\nThreads:\t1\nSigCgt:\t%016x\nCpus_allowed_list:\t0-3\n",
		p.comm, p.state, p.ppid, p.uid, inner, p.caught)
	m.Put(dir+"stat", stat)
	m.Put(dir+"status", status)
	m.Put(dir+"comm", p.comm+"\n")
	m.Put(dir+"cmdline", strings.Join(append(p.argv, ""), "\x00"))
	m.Put(dir+"environ", strings.Join(append(p.env, ""), "\x00"))
	var mapped strings.Builder
	for i, f := range p.maps {
		fmt.Fprintf(&mapped, "7f%010x-7f%010x r-xp 00000000 fe:01 %d %s\n", i<<12, i<<12+4096, i+1, f)
	}
	m.Put(dir+"maps", mapped.String())
	if p.exe != "" {
		m.Link(dir+"exe", p.exe)
	}
	for i, target := range p.fds {
		m.Link(dir+"fd/"+strconv.Itoa(i+3), target)
	}
	m.Link(dir+"fd/0", "") // none, in a folder that is there
	threads := map[int]string{p.pid: p.comm}
	maps.Copy(threads, p.threads)
	for tid, name := range threads {
		task := dir + "task/" + strconv.Itoa(tid) + "/"
		m.Put(task+"stat", strings.Replace(stat, strconv.Itoa(p.pid), strconv.Itoa(tid), 1))
		m.Put(task+"comm", name+"\n")
		m.Put(task+"children", "")
	}
	m.adopt()
}

// death takes a process out of the machine, as if its parent had collected it.
func (m *machine) death(pid int) {
	p := m.procs[pid]
	p.state = "X" // what a reader with an open descriptor sees; the real one answers ESRCH
	m.birth(p)
	m.Remove("proc/" + strconv.Itoa(pid))
	delete(m.procs, pid)
	m.adopt()
}

// adopt writes the lists of children.
func (m *machine) adopt() {
	childPIDs := map[int]string{}
	for pid := range m.procs {
		childPIDs[m.procs[pid].ppid] += strconv.Itoa(pid) + " "
	}
	for pid := range m.procs {
		m.Put(fmt.Sprintf("proc/%d/task/%d/children", pid, pid), childPIDs[pid])
	}
}

// memo is a sink that remembers.
type memo struct {
	events []string
	attrs  map[string]map[string]string // of the last process event of each entity
	values map[string]float64
	unseen []string
}

func newMemo() *memo {
	return &memo{attrs: map[string]map[string]string{}, values: map[string]float64{}}
}

func (s *memo) Add(d metric.Desc, entity string, v float64) { s.values[d.Name+" "+entity] = v }
func (s *memo) Event(kind, entity string, attrs map[string]string) {
	s.events = append(s.events, kind+" "+entity)
	if kind == "process" {
		s.attrs[entity] = attrs
	}
}
func (s *memo) Unseen(signal, _, reason, _ string) { s.unseen = append(s.unseen, signal+": "+reason) }

// wantRoles compares the roles of a job's processes.
func wantRoles(t *testing.T, j *Job, want map[int]Role) {
	t.Helper()
	if diff := cmp.Diff(want, roles(j.Tree())); diff != "" {
		t.Errorf("roles (-want +got):\n%s", diff)
	}
}

// roles returns the role of each process by its number.
func roles(t *Tree) map[int]Role {
	out := map[int]Role{}
	for _, p := range t.Processes {
		out[p.PID] = p.Role
	}
	return out
}
