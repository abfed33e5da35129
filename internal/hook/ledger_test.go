package hook

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/untrusted"
)

const (
	testToken = "0123456789abcdef0123456789abcdef"
	testUID   = 1000
)

// fixture is a ledger under test: a job of made-up processes.
type fixture struct {
	*ledger
	t     testing.TB
	at    time.Duration
	start map[int]int  // when the process with this number was started; absent: it is gone
	alien map[int]bool // running, and not of the job
	seq   map[int]int64
	asked int // calls of Identify
	sink  *recording.Recorder
}

// newFixture is a ledger of a job whose processes are these at first.
func newFixture(t testing.TB, pids ...int) *fixture {
	f := &fixture{t: t, at: time.Hour, start: map[int]int{}, alien: map[int]bool{}, seq: map[int]int64{}}
	f.ledger = newLedger(Config{Identify: f.identify, Folder: "/home/ann/run",
		Redaction: untrusted.Redaction{Home: "/home/ann", User: "ann"}}, testToken, testUID)
	f.ledger.gone = func(pid int) bool { return f.start[pid] == 0 && !f.alien[pid] }
	f.ledger.start = time.Hour
	f.sink, _ = recording.NewRecorder(recording.Header{}, nil)
	f.run(pids...)
	return f
}

func (f *fixture) identify(pid int) (string, bool) {
	f.asked++
	return fmt.Sprintf("process/%d.%d", pid, f.start[pid]), f.start[pid] != 0
}

// run starts processes.
func (f *fixture) run(pids ...int) {
	for _, pid := range pids {
		f.start[pid] = 100 + pid
	}
}

// fields are the keys of a message beside those that every message has.
type fields map[string]any

// datagram makes the next message of a process.
func (f *fixture) datagram(pid int, kind string, more fields) []byte {
	f.seq[pid]++
	m := fields{"v": Version, "token": testToken, "kind": kind, "pid": pid, "seq": f.seq[pid], "at": int64(f.at),
		"lost": 0}
	maps.Copy(m, more)
	data, err := json.Marshal(m)
	if err != nil {
		f.t.Fatal(err)
	}
	return data
}

func (f *fixture) deliver(pid int, data []byte) { f.take(sender{pid, testUID}, data, true, f.at) }

func (f *fixture) send(pid int, kind string, more fields) {
	f.deliver(pid, f.datagram(pid, kind, more))
}

// hello has somebody send the greeting of process 10, whole or cut off.
func (f *fixture) hello(from sender, whole bool) {
	f.take(from, f.datagram(10, "hello", nil), whole, f.at)
}

// pass lets time pass in steps of a tick, recording at each.
func (f *fixture) pass(d time.Duration) {
	for end := f.at + d; f.at < end; {
		f.at += 100 * time.Millisecond
		f.sink.Tick(f.at - time.Hour)
		f.record(f.sink, f.at)
	}
}

// recorded is what the sink has by now.
func (f *fixture) recorded() *recording.Recording {
	rec, err := f.sink.Finish(recording.End{})
	if err != nil {
		f.t.Fatal(err)
	}
	return rec
}

// points are the readings of a series.
func (f *fixture) points(metric, entity string) []recording.Point {
	for _, s := range f.recorded().Series {
		if s.Metric == metric && s.Entity == entity {
			return s.Points
		}
	}
	return nil
}

// want compares the newest reading of a series.
func (f *fixture) want(metric, entity string, want float64) {
	f.t.Helper()
	if p := f.points(metric, entity); len(p) == 0 || p[len(p)-1].Value != want {
		f.t.Errorf("the readings of %s of %s are %v, want %v at last", metric, entity, p, want)
	}
}

// events are the recorded ones of a kind.
func (f *fixture) events(kind string) []recording.Event {
	var list []recording.Event
	for _, e := range f.recorded().Events {
		if e.Kind == kind {
			list = append(list, e)
		}
	}
	return list
}

func work(items, ns int64) fields {
	return fields{"loader": 0, "work": fields{"fetches": items / 10, "items": items, "fetch_time": ns, "item_time": ns,
		"opens": items, "open_time": ns / 2}}
}

func steps(n, wait int64) fields {
	return fields{"loader": 0, "steps": fields{"clock": int64(time.Hour) + n, "steps": n, "grad_steps": n,
		"aside_steps": n / 2, "samples": 10 * n, "wait": wait, "step_time": 2 * wait, "begun": 1}}
}

func epochOf(number int, workers ...int) fields {
	return fields{"loader": 0, "epoch": fields{"number": number, "begun": int64(time.Hour) + 5e8, "create": 1e7,
		"steps": 0, "wait": 0, "wall": 0, "workers": workers, "born": len(workers), "grad": true, "ended": false}}
}

func TestTotalsOfALoop(t *testing.T) {
	f := newFixture(t, 10, 11, 12)
	f.send(10, "hello", fields{"python": "3.11.2", "torch": "1.13.1", "executable": "/usr/bin/python3",
		"cwd": "/home/ann/run", "rank": 3})
	f.send(10, "loader", fields{"loader": 0, "made": fields{"class": "DataLoader", "num_workers": 2, "batch_size": 10,
		"pin_memory": false, "file": "/home/ann/run/train.py", "line": 88, "function": "main",
		"given": []string{"batch_size", "num_workers"}}})
	f.send(10, "epoch", epochOf(0, 11, 12))
	f.send(11, "hello", fields{"parent": 10})
	f.send(12, "hello", fields{"parent": 10})
	f.send(11, "work", work(100, 5e9))
	f.send(12, "work", work(200, 7e9))
	f.send(10, "steps", steps(30, 2e9))
	f.pass(100 * time.Millisecond)
	f.send(12, "work", work(300, 9e9))
	f.pass(100 * time.Millisecond)

	const loop = "loop/10.110.0"
	f.want("hook_items", loop, 400)
	f.want("hook_fetches", loop, 40)
	f.want("hook_item_s", loop, 14)
	f.want("hook_open_s", loop, 7)
	f.want("hook_steps", loop, 30)
	f.want("hook_grad_steps", loop, 30)
	f.want("hook_aside_steps", loop, 15)
	f.want("hook_samples", loop, 300)
	f.want("hook_wait_s", loop, 2)
	f.want("hook_step_time_s", loop, 4)
	f.want("hook_clock_s", "process/10.110", 3600.00000003)
	f.want("hook_lost_messages", "process/10.110", 0)
	s := f.state()
	if len(s.Trainers) != 1 || s.Loaded != 3 || s.Made != 1 || f.refused+f.malformed+f.dropped != 0 {
		t.Fatalf("state %+v", s)
	}
	got := s.Trainers[0]
	want := Trainer{PID: 10, Entity: "process/10.110", Steps: 30, Executable: "/usr/bin/python3",
		Call:  Call{File: "/home/ann/run/train.py", Line: 88, Folder: "/home/ann/run"},
		Calls: []Call{{File: "/home/ann/run/train.py", Line: 88, Folder: "/home/ann/run"}}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("trainer (-want +got):\n%s", d)
	}
	if e := f.events(recording.EventLoader); len(e) != 1 || e[0].Entity != loop || e[0].Attrs["file"] != "train.py" ||
		e[0].Attrs["line"] != "88" ||
		e[0].Attrs["given"] != "batch_size,num_workers" || e[0].Attrs["pin_memory"] != "0" {
		t.Errorf("loader events %v", e)
	}
	if e := f.events(recording.EventHook); len(e) != 3 || e[0].Attrs["torch"] != "1.13.1" ||
		e[0].Attrs["rank"] != "3" || e[0].Attrs["state"] != "loaded" ||
		e[1].Entity != "process/11.111" || e[2].Entity != "process/12.112" || e[1].Attrs["loop"] != loop ||
		e[2].Attrs["loop"] != loop || e[2].Attrs["state"] != "worker" {
		t.Errorf("hook events %v", e)
	}
}

func TestWorkersAreMappedHoweverLateTheirTrainerSpeaks(t *testing.T) {
	for name, order := range map[string]func(f *fixture){
		"told by the trainer afterwards": func(f *fixture) {
			f.send(11, "work", work(100, 5e9))
			f.send(10, "epoch", epochOf(0, 11))
			f.send(11, "work", work(150, 6e9))
		},
		"told by the trainer, without a hello or a number": func(f *fixture) {
			for _, more := range []fields{work(60, 1e9), work(150, 6e9)} {
				delete(more, "loader")
				f.send(11, "work", more)
			}
			f.send(10, "epoch", epochOf(0, 11))
		},
		"by its parent alone": func(f *fixture) {
			f.send(11, "hello", fields{"parent": 10})
			f.send(11, "work", work(150, 6e9))
			f.send(10, "steps", steps(1, 1))
		},
		"by its parent, which speaks first": func(f *fixture) {
			f.send(10, "steps", steps(1, 1))
			f.send(11, "work", work(100, 5e9))
			f.send(11, "hello", fields{"parent": 10})
			f.send(11, "work", work(150, 6e9))
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, 10, 11)
			order(f)
			f.pass(100 * time.Millisecond)
			f.want("hook_items", "loop/10.110.0", 150)
			f.want("hook_fetch_s", "loop/10.110.0", 6)
		})
	}
}

// shortEpochs has epochs go by, each with workers 1000, 1001, … of its own that make 10 items and end with it.
func (f *fixture) shortEpochs(epochs, each int, after func()) {
	for e := range epochs {
		var workers []int
		for w := range each {
			workers = append(workers, 1000+e*each+w)
		}
		f.run(workers...)
		f.send(10, "epoch", epochOf(e, workers...))
		for _, pid := range workers {
			f.send(pid, "hello", fields{"parent": 10, "loader": 0})
			f.send(pid, "work", work(10, 1e6))
			delete(f.start, pid)
		}
		f.pass(time.Second)
		after()
	}
}

// TestLateWordOfWorkersThatEnded: pipetune is stopped when workers were just found gone. What they sent before is read
// after that, with sweeps in between, and counted once.
func TestLateWordOfWorkersThatEnded(t *testing.T) {
	f := newFixture(t, 10)
	const epochs, each = maxProcesses*3/4/8 + 1, 8
	f.shortEpochs(epochs, each, func() {})
	f.sweep(f.at)
	f.at += time.Minute
	for pid := 1000; pid < 1005; pid++ {
		f.send(pid, "work", work(12, 1e6))
		f.sweep(f.at)
	}
	f.pass(100 * time.Millisecond)
	f.want("hook_items", "loop/10.110.0", epochs*each*10+5*2)
	f.pass(2 * time.Second)
	for range 3 {
		f.sweep(f.at)
		f.pass(time.Second)
	}
	if n := len(f.processes); n > 100 {
		t.Errorf("%d processes are kept", n)
	}
}

func TestWorkersThatEndedStayInTheTotals(t *testing.T) {
	f := newFixture(t, 10)
	const epochs, each = 800, 8
	f.shortEpochs(epochs, each, func() { f.sweep(f.at) })
	f.want("hook_items", "loop/10.110.0", epochs*each*10)
	if s := f.state(); s.Loaded != epochs*each || f.dropped != 0 || f.refused != 0 {
		t.Errorf("%d loaded, %d dropped, %d refused", s.Loaded, f.dropped, f.refused)
	}
	if n := len(f.processes); n > maxProcesses {
		t.Errorf("%d processes are kept", n)
	}
	if f.accounts > maxAccounts || f.siteRecords != 0 {
		t.Errorf("%d accounts, %d site records", f.accounts, f.siteRecords)
	}
}

func TestANumberGivenToAnotherProcessIsAnotherProcess(t *testing.T) {
	f := newFixture(t, 10, 11)
	f.send(10, "epoch", epochOf(0, 11))
	f.send(11, "hello", fields{"parent": 10})
	f.send(11, "work", work(100, 5e9))
	f.start[11], f.seq[11] = 999, 0
	f.send(10, "epoch", epochOf(1, 11))
	f.send(11, "hello", fields{"parent": 10})
	f.send(11, "work", work(30, 1e9))
	f.pass(100 * time.Millisecond)
	f.want("hook_items", "loop/10.110.0", 130)
	f.want("hook_fetch_s", "loop/10.110.0", 6)
}

func TestAProcessThatBeginsAnotherProgramCountsFromZeroAgain(t *testing.T) {
	f := newFixture(t, 10)
	f.send(10, "hello", nil)
	f.send(10, "steps", steps(50, 5e9))
	f.at += time.Second
	f.seq[10] = 0
	f.send(10, "hello", nil)
	f.send(10, "steps", steps(7, 1e9))
	f.pass(100 * time.Millisecond)
	f.want("hook_steps", "loop/10.110.0", 50)
	f.want("hook_steps", "loop/10.110.1", 7)
	if s := f.state(); s.Trainers[0].Steps != 57 || f.malformed != 0 {
		t.Errorf("%d steps, %d malformed", s.Trainers[0].Steps, f.malformed)
	}
}

func TestNamesAreRedacted(t *testing.T) {
	f := newFixture(t, 10)
	f.send(10, "loader", fields{"loader": 0, "made": fields{"class": "x\x1b[31m\nDataLoader",
		"dataset": strings.Repeat("ä", 3000), "file": "/home/ann/lib/data.py", "line": 3,
		"given": []string{"a,b", "\u202e"}}})
	site := func(kind, what string) fields {
		return fields{"kind": kind, "what": what, "file": "/home/ann/run/sub/data.py", "line": 7, "function": "get",
			"calls": 3, "time": 5e8}
	}
	more := work(3, 1e9)
	more["sites"] = []fields{site("open", "/home/ann/data/hf_abcdefghijklmnopqrst/train.h5"),
		site("sync", "Tensor.item")}
	f.send(10, "work", more)
	f.pass(100 * time.Millisecond)
	made := f.events(recording.EventLoader)[0].Attrs
	if made["class"] != `x\x1b[31m\nDataLoader` || made["file"] != "~/lib/data.py" ||
		len(made["dataset"]) > MaxString || made["given"] != `ab,\u202e` {
		t.Errorf("loader %v", made)
	}
	sites := f.events(recording.EventSite)
	if len(sites) != 2 || sites[0].Attrs["file"] != "sub/data.py" ||
		sites[0].Attrs["what"] != "~/data/<redacted>/train.h5" || sites[1].Attrs["what"] != "Tensor.item" {
		t.Errorf("sites %v", sites)
	}
	f.want("hook_site_calls", "site/10.110.0/0", 3)
	f.want("hook_site_s", "site/10.110.0/1", 0.5)
}
