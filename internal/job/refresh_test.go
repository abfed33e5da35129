package job

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/procfs"
)

// attached returns a job on a made-up machine, after its first refresh.
func attached(t *testing.T, m *machine, pid int) (*Job, *memo) {
	t.Helper()
	j := must.Get(Attach(context.Background(), pid, Options{FS: m.fs()}))(t)
	t.Cleanup(j.Close)
	s := newMemo()
	j.Refresh(context.Background(), 0, s)
	return j, s
}

const tick = 100 * time.Millisecond

func TestRefreshTellsEachProcessOnce(t *testing.T) {
	m := newMachine(t, shell(10, 1), trainer(100, 10), forked(101, 100))
	j, s := attached(t, m, 100)
	for i := range 20 {
		j.Refresh(context.Background(), time.Duration(i)*tick, s)
	}
	if diff := cmp.Diff([]string{"process process/100.1100", "process process/101.1101"}, s.events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	want := map[string]string{"role": "worker", "pid": "101", "ppid": "100", "start_s": "11.01", "comm": "python3",
		"trainer": "process/100.1100", "rank": "0", "start_method": "fork", "affinity": "4"}
	if diff := cmp.Diff(want, s.attrs["process/101.1101"]); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
}

func TestRefreshSeesWorkersOfShortEpochs(t *testing.T) {
	m := newMachine(t, shell(10, 1), trainer(100, 10), forked(101, 100))
	j, s := attached(t, m, 100)
	m.death(101)
	m.birth(forked(102, 100))
	j.Refresh(context.Background(), tick, s) // between two full looks
	wantRoles(t, j, map[int]Role{100: Trainer, 102: Worker})
	if !slices.Contains(s.events, "exit process/101.1101") {
		t.Errorf("events %v", s.events)
	}
	if s.values["loader_worker_births loader/100.1100"] != 2 {
		t.Errorf("counts %v", s.values)
	}
	m.death(102)
	j.Refresh(context.Background(), 2*tick, s)
	wantRoles(t, j, map[int]Role{100: Trainer}) // between two epochs
}

func TestRefreshMakesAWorkerOfWhatInstallsItsHandlers(t *testing.T) {
	m := newMachine(t, shell(10, 1), trainer(100, 10), coded(101, 100, spawnCode, 2))
	j, s := attached(t, m, 100)
	m.birth(coded(101, 100, spawnCode, inWorker))
	j.Refresh(context.Background(), tick, s)
	if got := roles(j.Tree())[101]; got != Worker {
		t.Errorf("role %q", got)
	}
	if got := s.attrs["process/101.1101"]["start_method"]; got != "spawn" {
		t.Errorf("start method %q", got)
	}
}

func TestRefreshNeverCreditsAReusedNumber(t *testing.T) {
	m := newMachine(t, shell(10, 1), trainer(100, 10), forked(101, 100))
	j, s := attached(t, m, 100)
	m.death(101)
	again := forked(101, 100)
	again.start = 9000
	m.birth(again)
	j.Refresh(context.Background(), fullEvery, s)
	if _, ok := j.Tree().Find(procfs.ID{PID: 101, Start: 1101}); ok {
		t.Error("the first process 101 is still there")
	}
	if p, ok := j.Tree().Find(procfs.ID{PID: 101, Start: 9000}); !ok || p.Role != Worker {
		t.Errorf("the second process 101: %+v %v", p, ok)
	}
}

// TestRefreshLeavesStrangersAlone: a number that stands in a list of children, or was a root's, may be somebody else's
// by the time it is opened.
func TestRefreshLeavesStrangersAlone(t *testing.T) {
	m := newMachine(t, shell(10, 1), shell(20, 1), trainer(100, 10), forked(101, 100))
	j, s := attached(t, m, 100)
	stranger := forked(102, 20)
	m.birth(stranger)
	// as it was read before 102 ended
	m.Put("proc/100/task/100/children", "101 102 ")
	for _, at := range []time.Duration{tick, fullEvery} {
		j.Refresh(context.Background(), at, s)
		if got := roles(j.Tree()); !cmp.Equal(got, map[int]Role{100: Trainer, 101: Worker}) {
			t.Errorf("after %s: roles %v", at, got)
		}
	}
	m.death(101)
	m.death(100)
	again := trainer(100, 20)
	again.start = 9000
	m.birth(again)
	for i := range 10 {
		j.Refresh(context.Background(), time.Duration(i+2)*fullEvery, s)
	}
	if got := j.Tree(); len(got.Processes) > 0 || !got.Ended {
		t.Errorf("another trainer under the number of the first is taken for it: %v, ended %t", roles(got), got.Ended)
	}
	if _, known := s.attrs["process/100.9000"]; known {
		t.Error("the other trainer was told of")
	}
}

// TestRefreshTellsAnExec: a trainer that becomes another program trains no more; one whose program was replaced on disk
// goes on.
func TestRefreshTellsAnExec(t *testing.T) {
	for exe, ended := range map[string]bool{python: false, python + " (deleted)": false, "/usr/bin/sleep": true} {
		m := newMachine(t, shell(10, 1), trainer(100, 10))
		j, s := attached(t, m, 100)
		m.Link("proc/100/exe", exe)
		for at := fullEvery; at <= 2*slowEvery; at += fullEvery {
			j.Refresh(context.Background(), at, s)
		}
		if j.Tree().Ended != ended {
			t.Errorf("%s: ended %t", exe, j.Tree().Ended)
		}
	}
}

func TestRefreshDropsOrphans(t *testing.T) {
	m := newMachine(t, shell(10, 1), trainer(100, 10), coded(104, 100, fserver, 2), coded(105, 104, fserver, inWorker))
	j, s := attached(t, m, 100)
	server := coded(104, 1, fserver, 2)
	m.birth(server) // its trainer died, and init took it
	j.Refresh(context.Background(), fullEvery, s)
	wantRoles(t, j, map[int]Role{100: Trainer})
}

func TestRefreshTellsTheEnd(t *testing.T) {
	torchrun := proc{pid: 50, ppid: 10, exe: python, argv: []string{"python3", "-m", "torch.distributed.run",
		"train.py"}}
	m := newMachine(t, shell(10, 1), torchrun, ranked(trainer(100, 50), "RANK=0"), ranked(trainer(200, 50), "RANK=1"))
	j, s := attached(t, m, 50)
	if got := len(j.Tree().Trainers()); got != 2 {
		t.Fatalf("%d trainers", got)
	}
	m.death(100)
	j.Refresh(context.Background(), time.Second, s)
	if j.Tree().Ended {
		t.Fatal("ended with one rank left")
	}
	m.death(200)
	j.Refresh(context.Background(), 2*time.Second, s)
	if j.Tree().Ended {
		t.Fatal("ended while torchrun may start its ranks again")
	}
	j.Refresh(context.Background(), 4*time.Second, s)
	if !j.Tree().Ended || !slices.Contains(s.events, "job-ended ") {
		t.Errorf("not ended: %v", s.events)
	}
	n := len(s.events)
	j.Refresh(context.Background(), 5*time.Second, s)
	if len(s.events) != n {
		t.Errorf("told again: %v", s.events[n:])
	}
}

// TestRefreshTakesNoLauncherForATrainer: a script that imports torch and starts its ranks itself outlives them.
func TestRefreshTakesNoLauncherForATrainer(t *testing.T) {
	m := newMachine(t, shell(10, 1), trainer(50, 10), trainer(100, 50), trainer(200, 50), forked(101, 100),
		forked(201, 200))
	j, s := attached(t, m, 50)
	for _, pid := range []int{101, 201, 100, 200} {
		m.death(pid)
	}
	j.Refresh(context.Background(), fullEvery, s)
	wantRoles(t, j, map[int]Role{50: Other})
}

// TestRefreshHeedsWhoTakesBatches: ranks without workers below a script that imports torch itself look like its
// helpers, until they are reported.
func TestRefreshHeedsWhoTakesBatches(t *testing.T) {
	m := newMachine(t, shell(10, 1), trainer(50, 10), trainer(100, 50), trainer(200, 50))
	var told []string
	j := must.Get(Attach(context.Background(), 50, Options{FS: m.fs(),
		BatchTakers: func() []string { return told }}))(t)
	t.Cleanup(j.Close)
	s := newMemo()
	j.Refresh(context.Background(), 0, s)
	wantRoles(t, j, map[int]Role{50: Trainer, 100: Feeder, 200: Feeder})
	told = []string{"process/100.1100", "process/200.1200", "process/50.1"}
	j.Refresh(context.Background(), fullEvery, s)
	wantRoles(t, j, map[int]Role{50: Launcher, 100: Trainer, 200: Trainer})
}

func TestRefreshFindsThePinningThread(t *testing.T) {
	for _, name := range []string{"pt_data_pin", "Thread-12 (_pin"} {
		t.Run(name, func(t *testing.T) {
			p := trainer(100, 10)
			p.threads = map[int]string{110: "pt_autograd_0", 111: name}
			m := newMachine(t, shell(10, 1), p, forked(101, 100))
			j, s := attached(t, m, 100)
			if got := j.Tree().Trainers()[0].PinThread; got != 111 {
				t.Errorf("pinning thread %d", got)
			}
			if got := j.Tree().Trainers()[0].AutogradThreads; !slices.Equal(got, []int{110}) {
				t.Errorf("autograd threads %v", got)
			}
			if !slices.Contains(s.events, "pin-thread pin/100.1100") {
				t.Errorf("events %v", s.events)
			}
		})
	}
}

// 100,000 workers in ten minutes are what restarting two of them with each tenth of a second makes.
func TestRefreshKeepsNoMemoryOfTheDead(t *testing.T) {
	m := newMachine(t, shell(10, 1), trainer(100, 10), forked(101, 100))
	j, s := attached(t, m, 100)
	births := func(from, to int) {
		for i := from; i < to; i++ {
			m.death(101)
			w := forked(101, 100)
			w.start = uint64(2000 + i)
			m.birth(w)
			j.Refresh(context.Background(), time.Duration(i)*fullEvery, s)
		}
	}
	births(1, 40)
	before := heap()
	events := len(s.events)
	births(40, 200)
	grown := int64(heap()) - int64(before)
	// Of the sink's own memory, some 200 bytes an event, which the bound on events keeps at 4,096.
	if limit := int64(len(s.events)-events)*1500 + 1<<18; grown > limit {
		t.Errorf("160 births took %d bytes, limit %d", grown, limit)
	}
	if got := s.values["loader_worker_births loader/100.1100"]; got != 200 {
		t.Errorf("%v births counted", got)
	}
	if len(j.table.nodes) != 2 {
		t.Errorf("%d processes kept", len(j.table.nodes))
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestEventsAreBounded(t *testing.T) {
	j := &Job{}
	s := newMemo()
	for i := range maxEvents + 10 {
		j.event(s, "process", fmt.Sprint("process/", i), nil)
	}
	j.table = newTable(Options{})
	j.exit(&node{part: part{role: Other}, recorded: true, proc: &procfs.Process{}}, s)
	if len(s.events) != maxEvents+1 {
		t.Errorf("%d events: the exit of a process whose birth was told must be told", len(s.events))
	}
	s.events = s.events[:maxEvents]
	if len(s.events) != maxEvents || len(s.unseen) != 1 || !strings.Contains(s.unseen[0], "only counted") {
		t.Errorf("%d events, unseen %v", len(s.events), s.unseen)
	}
}
