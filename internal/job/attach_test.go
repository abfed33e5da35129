package job

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/procfs"
)

var train = []string{"python3", "train.py", "--batch-size", "64"}

func shell(pid, ppid int) proc {
	return proc{pid: pid, ppid: ppid, comm: "bash", exe: "/bin/bash", argv: []string{"-bash"}}
}

func trainer(pid, ppid int) proc {
	return proc{pid: pid, ppid: ppid, exe: python, argv: train, caught: inTrainer, maps: []string{torchLib}}
}

func forked(pid, ppid int) proc {
	return proc{pid: pid, ppid: ppid, exe: python, argv: train, caught: inWorker, maps: []string{torchLib}}
}

func coded(pid, ppid int, code string, caught uint64) proc {
	argv := []string{"python3", "-c", code}
	if code == spawnCode {
		argv = append(argv, "--multiprocessing-fork")
	}
	return proc{pid: pid, ppid: ppid, exe: python, argv: argv, caught: caught}
}

func ranked(p proc, env ...string) proc {
	p.env = env
	return p
}

// The trees are those of PyTorch 1.13.1 to 2.14 as seen on Debian 12 to sid.
func TestAttachGivesRoles(t *testing.T) {
	torchrun := proc{pid: 50, ppid: 10, comm: "torchrun", exe: python, argv: []string{"/usr/bin/python3",
		"/opt/venv/bin/torchrun", "--nproc-per-node=2", "train.py"},
		maps: []string{torchLib}}
	named := forked(101, 100)
	named.comm, named.argv = "pt_data_worker", []string{"my job: epoch 3"} // setproctitle after the fork
	wandb := proc{pid: 102, ppid: 100, comm: "wandb-core", exe: "/opt/venv/bin/wandb-core",
		argv: []string{"wandb-core"}, caught: 0xfffffffe7ffbfeff}
	handled := trainer(100, 10)
	handled.caught |= inWorker
	holding := forked(102, 100)
	holding.fds = []string{"/dev/shm/torch_102_1234567_0 (deleted)"}
	for _, c := range []struct {
		name  string
		procs []proc
		pid   int
		want  map[int]Role
		warn  string
	}{
		{"fork", []proc{trainer(100, 10), forked(101, 100), forked(102, 100)}, 100, map[int]Role{100: Trainer,
			101: Worker, 102: Worker}, ""},
		{"spawn", []proc{trainer(100, 10), coded(103, 100, trackCode, 2), coded(101, 100, spawnCode, inWorker),
			coded(102, 100, spawnCode, inWorker)}, 100,
			map[int]Role{100: Trainer, 101: Worker, 102: Worker, 103: Server}, ""},
		{"spawn, still importing", []proc{trainer(100, 10), coded(101, 100, spawnCode, 2)}, 100,
			map[int]Role{100: Trainer, 101: Feeder}, ""},
		{"forkserver", []proc{trainer(100, 10), coded(103, 100, trackCode, 2), coded(104, 100, fserver, 0x10002),
			coded(101, 104, fserver, inWorker), coded(102, 104, fserver, 2)}, 100,
			map[int]Role{100: Trainer, 101: Worker, 102: Feeder, 103: Server, 104: Server}, ""},
		{"no workers", []proc{trainer(100, 10)}, 100, map[int]Role{100: Trainer}, ""},
		{"a worker is given", []proc{trainer(100, 10), forked(101, 100)}, 101, map[int]Role{100: Trainer, 101: Worker},
			"process 101 is a loader worker; its trainer 100 is watched"},
		{"a spawned worker is given", []proc{trainer(100, 10), coded(101, 100, spawnCode, inWorker)}, 101,
			map[int]Role{100: Trainer, 101: Worker}, "its trainer 100"},
		{"the shell is given", []proc{trainer(100, 10), forked(101, 100)}, 10, map[int]Role{10: Launcher, 100: Trainer,
			101: Worker}, "launches the job"},
		{"torchrun is given", []proc{torchrun, ranked(trainer(100, 50), "RANK=0"), ranked(trainer(200, 50), "RANK=1"),
			forked(101, 100), forked(201, 200)}, 50,
			map[int]Role{50: Launcher, 100: Trainer, 200: Trainer, 101: Worker, 201: Worker}, "launches the job"},
		{"one rank is given", []proc{torchrun, ranked(trainer(100, 50), "RANK=0"), ranked(trainer(200, 50), "RANK=1"),
			forked(201, 200)}, 100,
			map[int]Role{50: Launcher, 100: Trainer, 200: Trainer, 201: Worker}, "rank 0 of 2"},
		{"ranks started by mp.spawn", []proc{trainer(100, 10), coded(150, 100, spawnCode, inTrainer),
			coded(160, 100, spawnCode, inTrainer), coded(151, 150, spawnCode, inWorker),
			coded(161, 160, spawnCode, inWorker)}, 100, map[int]Role{100: Launcher, 150: Trainer, 160: Trainer,
			151: Worker, 161: Worker}, "launches the job"},
		{"pool, subprocess and logger are other", []proc{trainer(100, 10), forked(101, 100), wandb,
			{pid: 103, ppid: 101, exe: "/usr/bin/ffmpeg", argv: []string{"ffmpeg"}, comm: "ffmpeg"},
			{pid: 104, ppid: 100, exe: python, argv: train, caught: inTrainer}}, 100, map[int]Role{100: Trainer,
			101: Worker, 102: Other, 103: Other, 104: Feeder}, ""},
		{"named worker with another title", []proc{trainer(100, 10), named}, 100, map[int]Role{100: Trainer,
			101: Worker}, ""},
		{"trainer with the workers' handlers", []proc{handled, forked(101, 100), holding}, 100,
			map[int]Role{100: Trainer, 101: Feeder, 102: Worker}, ""},
		{"not training", []proc{{pid: 100, ppid: 10, exe: "/usr/bin/postgres", argv: []string{"postgres"},
			comm: "postgres"}}, 100, map[int]Role{100: Trainer}, "not a Python process"},
		{"python without a framework", []proc{{pid: 100, ppid: 10, exe: python, argv: train}}, 100,
			map[int]Role{100: Trainer}, "no training framework"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMachine(t, append([]proc{{pid: 1, comm: "systemd", exe: "/sbin/init", argv: []string{"init"}},
				shell(10, 1)}, c.procs...)...)
			j := must.Get(Attach(context.Background(), c.pid, Options{FS: m.fs()}))(t)
			defer j.Close()
			wantRoles(t, j, c.want)
			if got := strings.Join(j.Warnings(), "\n"); !strings.Contains(got, c.warn) || (c.warn == "" && got != "") {
				t.Errorf("warnings %q, want %q", got, c.warn)
			}
		})
	}
}

func TestAttachRefuses(t *testing.T) {
	self := proc{pid: 300, ppid: 10, comm: "pipetune", exe: "/usr/bin/pipetune", argv: []string{"pipetune"}}
	child := proc{pid: 301, ppid: 300, comm: "pipetune", exe: "/usr/bin/pipetune", argv: []string{"pipetune"}}
	zombie := trainer(100, 10)
	zombie.state = "Z"
	orphan := coded(400, 1, fserver, 2)
	ending := proc{pid: 701, comm: "python3"} // its parent is in no namespace of ours: 0, as kthreadd's
	for _, c := range []struct {
		name string
		pid  int
		kind error
	}{
		{"no such process", 99, ErrNoProcess},
		{"nonsense", -4, ErrNoProcess},
		{"zombie", 100, ErrZombie},
		{"it ends just now", 701, ErrZombie},
		{"thread of the kernel", 700, ErrKernelThread},
		{"pipetune", 300, ErrSelf},
		{"its child", 301, ErrSelf},
		{"forkserver of an ended job", 400, ErrOrphan},
		{"worker of that forkserver", 401, ErrOrphan},
		{"two jobs in one shell", 20, ErrSeveralJobs},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMachine(t, proc{pid: 1, comm: "systemd", exe: "/sbin/init", argv: []string{"init"}}, shell(10, 1),
				zombie, self, child, orphan, coded(401, 400, fserver, inWorker), shell(20, 1), trainer(500, 20),
				trainer(600, 20), proc{pid: 700, ppid: 2, comm: "kworker/0:1", kernel: true}, ending)
			j, err := Attach(context.Background(), c.pid, Options{FS: m.fs(), Self: 300})
			if err == nil {
				j.Close()
				t.Fatalf("attached to %v", roles(j.Tree()))
			}
			var e *Error
			if !errors.Is(err, c.kind) || !errors.As(err, &e) {
				t.Fatalf("error %v, want %v", err, c.kind)
			}
			if c.kind == ErrSeveralJobs && len(e.Candidates) != 2 {
				t.Errorf("%d candidates, want 2", len(e.Candidates))
			}
		})
	}
}

// TestAttachTellsWhatHides: a process that is not there may only be hidden.
func TestAttachTellsWhatHides(t *testing.T) {
	for options, want := range map[string]string{"rw": "", "rw,hidepid=invisible": "hidepid=invisible",
		"rw,hidepid=0": "", "rw,hidepid=ptraceable": "hidepid=ptraceable"} {
		m := newMachine(t, shell(10, 1))
		m.Put("proc/self/mountinfo",
			"22 27 0:21 / /proc rw,nosuid shared:5 - proc proc "+options+"\n")
		_, err := Attach(context.Background(), 99, Options{FS: m.fs(), UID: 1000})
		var e *Error
		if !errors.Is(err, ErrNoProcess) || !errors.As(err, &e) || !strings.Contains(e.Detail, want) ||
			(want == "") != (e.Detail == "") || e.Hint == "" {
			t.Errorf("%s: %v", options, err)
		}
	}
}

func TestHeaderDescribesTheFirstTrainer(t *testing.T) {
	p := trainer(100, 10)
	p.inner = 7
	p.argv = append(p.argv, "--token", "hf_abcdefghijklmnopqrstuvwxyz0123456789")
	p.maps = append(p.maps, "/opt/venv/lib/python3.11/site-packages/h5py.libs/libhdf5-1c84c4aa.so.310.5.1")
	m := newMachine(t, shell(10, 1), p)
	j := must.Get(Attach(context.Background(), 100, Options{FS: m.fs()}))(t)
	defer j.Close()
	h := j.Header()
	if h.PID != 100 || h.StartTicks != 1100 || !h.Container || h.Framework != "pytorch" || h.Python != "3.11" ||
		h.HDF5Library != "1.14" {
		t.Errorf("header %+v", h)
	}
	if got := strings.Join(h.Command, " "); strings.Contains(got, "hf_") || !strings.Contains(got, "train.py") {
		t.Errorf("command line %q", got)
	}
	if got := j.Tree().Trainers()[0].InnerPID; got != 7 {
		t.Errorf("inner number %d", got)
	}
}

// A rank that multiprocessing started is named by the command that a person gave.
func TestHeaderNamesTheProgramOfSpawnedRanks(t *testing.T) {
	rank := ranked(coded(150, 100, spawnCode, inTrainer), "RANK=0")
	rank.maps = []string{torchLib}
	m := newMachine(t, shell(10, 1), trainer(100, 10), rank, coded(151, 150, spawnCode, inWorker))
	j := must.Get(Attach(context.Background(), 150, Options{FS: m.fs()}))(t)
	defer j.Close()
	if h := j.Header(); strings.Join(h.Command, " ") != strings.Join(train, " ") || h.PID != 150 {
		t.Errorf("process %d is of %q", h.PID, h.Command)
	}
}

func TestFindRanksJobs(t *testing.T) {
	gpu := trainer(600, 10)
	gpu.fds = []string{"/dev/nvidiactl", "/dev/nvidia0"}
	smi := proc{pid: 700, ppid: 10, exe: "/usr/bin/nvidia-smi", argv: []string{"nvidia-smi"}, comm: "nvidia-smi",
		fds: []string{"/dev/nvidiactl", "/dev/nvidia0"}}
	stranger := trainer(800, 10)
	stranger.uid = 1001
	mine := trainer(100, 10)
	base := []proc{shell(10, 1), mine, forked(101, 100), stranger, coded(900, 1, fserver, 2), smi,
		{pid: 950, ppid: 10, exe: python, argv: []string{"python3", "-m", "http.server"}},
		{pid: 300, ppid: 10, exe: python, argv: train, maps: []string{torchLib}}}
	m := newMachine(t, base...)
	find := func() []Candidate { return must.Get(Find(t.Context(), Options{FS: m.fs(), Self: 300}))(t) }
	found := find()
	if len(found) != 1 || found[0].Trainer != (procfs.ID{PID: 100, Start: 1100}) || found[0].Workers != 1 {
		t.Fatalf("found %+v", found)
	}
	if got, want := found[0].Describe(), "python3 train.py --batch-size 64 (pytorch, 1 loader worker)"; got != want {
		t.Errorf("described as %q, want %q", got, want)
	}
	m.birth(gpu)
	if found = find(); len(found) != 2 {
		t.Fatalf("found %+v", found)
	}
	if best := Best(found); len(best) != 1 || best[0].Trainer.PID != 600 {
		t.Errorf("best %+v", best)
	}
	if best := Best(nil); len(best) != 0 {
		t.Errorf("best of none: %v", best)
	}
}
