package hook

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/recording"
)

func TestOnlyTheJobIsHeard(t *testing.T) {
	for name, c := range map[string]struct {
		deliver                     func(f *fixture)
		loaded                      int
		refused, malformed, dropped int64
		asked                       int
	}{
		"of the job":   {deliver: func(f *fixture) { f.send(10, "hello", nil) }, loaded: 1, asked: 1},
		"another user": {deliver: func(f *fixture) { f.hello(sender{10, testUID + 1}, true) }, refused: 1},
		"root":         {deliver: func(f *fixture) { f.hello(sender{10, 0}, true) }, refused: 1},
		"a process that we do not see": {deliver: func(f *fixture) { f.hello(sender{0, testUID}, true) },
			refused: 1},
		"a stranger": {deliver: func(f *fixture) {
			f.alien[20] = true
			for range 100 { // asked for once in 200 ms
				f.send(20, "hello", nil)
			}
			f.at += time.Second
			f.send(20, "hello", nil)
		}, refused: 101, asked: 2},
		"another token": {deliver: func(f *fixture) {
			f.send(10, "hello", fields{"token": "0123456789abcdef0123456789abcdee"})
		}, refused: 1, asked: 1},
		"no token": {deliver: func(f *fixture) { f.send(10, "hello", fields{"token": ""}) },
			refused: 1, asked: 1},
		"another version": {deliver: func(f *fixture) { f.send(10, "hello", fields{"v": 2}) },
			malformed: 1, asked: 1},
		"cut off": {deliver: func(f *fixture) { f.hello(sender{10, testUID}, false) }, malformed: 1, asked: 1},
		"gone before it was heard, nobody's": {deliver: func(f *fixture) { f.send(30, "hello", nil) }, refused: 1,
			asked: 1},
		"gone before it was heard, a worker by its trainer's word": {deliver: func(f *fixture) {
			f.send(10, "epoch", epochOf(0, 30))
			f.send(30, "work", work(10, 1e6))
		}, asked: 2},
		"gone before it was heard, a worker by its own word": {deliver: func(f *fixture) {
			f.send(10, "hello", nil)
			f.send(30, "hello", fields{"parent": 10})
		}, loaded: 2, asked: 2},
		"gone before it was heard, and tells of loaders": {deliver: func(f *fixture) {
			f.send(10, "hello", nil)
			f.send(30, "hello", fields{"parent": 10})
			f.send(30, "steps", steps(1, 1))
		}, loaded: 2, asked: 2, dropped: 1},
		"it left the job": {deliver: func(f *fixture) {
			f.send(10, "hello", nil)
			delete(f.start, 10)
			f.alien[10] = true
			f.at += time.Minute
			f.send(10, "hello", nil)
		}, loaded: 1, refused: 1, asked: 2},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, 10)
			c.deliver(f)
			if f.loaded != c.loaded || f.refused != c.refused || f.malformed != c.malformed || f.dropped != c.dropped ||
				f.asked != c.asked {
				t.Errorf("%d loaded, %d refused, %d malformed, %d dropped, %d asked for; want %d, %d, %d, %d, %d",
					f.loaded, f.refused, f.malformed, f.dropped, f.asked, c.loaded, c.refused, c.malformed, c.dropped,
					c.asked)
			}
		})
	}
}

func TestImpossibleNumbersAreIgnored(t *testing.T) {
	const huge = int64(2e18)
	for name, m := range map[string]struct {
		kind string
		more fields
	}{
		"seq 0":                 {"hello", fields{"seq": 0}},
		"a fraction":            {"hello", fields{"seq": 1.5}},
		"beyond 64 bits":        {"hello", fields{"lost": 1e30}},
		"lost less than none":   {"hello", fields{"lost": -1}},
		"process 0":             {"hello", fields{"pid": 0}},
		"no such process":       {"hello", fields{"pid": 1 << 30}},
		"a parent below 0":      {"hello", fields{"parent": -5}},
		"rank -1":               {"hello", fields{"rank": -1}},
		"kind":                  {"goodbye", nil},
		"no loader":             {"epoch", fields{"epoch": fields{"number": 0}}},
		"loader -1":             {"steps", fields{"loader": -1, "steps": fields{}}},
		"loader 65536":          {"steps", fields{"loader": 65536, "steps": fields{}}},
		"steps of nothing":      {"steps", fields{"loader": 0}},
		"work of nothing":       {"work", fields{"loader": 0}},
		"steps below 0":         {"steps", fields{"loader": 0, "steps": fields{"steps": -1}}},
		"too many steps":        {"steps", fields{"loader": 0, "steps": fields{"steps": int64(2e15)}}},
		"too long a wait":       {"steps", fields{"loader": 0, "steps": fields{"wait": huge}}},
		"a wait below 0":        {"steps", fields{"loader": 0, "steps": fields{"waits": []int{5, -5}}}},
		"work below 0":          {"work", fields{"loader": 0, "work": fields{"items": -1}}},
		"a batch below 0":       {"work", fields{"loader": 0, "work": fields{"times": []int{-1}}}},
		"slow for ever":         {"work", fields{"loader": 0, "work": fields{"slow": [][]int64{{1, huge, 1}}}}},
		"an epoch below 0":      {"epoch", fields{"loader": 0, "epoch": fields{"number": -1}}},
		"a worker below 0":      {"epoch", fields{"loader": 0, "epoch": fields{"workers": []int{-7}}}},
		"drained in less":       {"epoch", fields{"loader": 0, "epoch": fields{"drain": -7}}},
		"workers below 0":       {"loader", fields{"loader": 0, "made": fields{"num_workers": -2}}},
		"items below 0":         {"loader", fields{"loader": 0, "made": fields{"items": -2}}},
		"a time-out below 0":    {"loader", fields{"loader": 0, "made": fields{"timeout": -0.5}}},
		"a line of no kind":     {"steps", fields{"loader": 0, "sites": []fields{{"kind": "x"}}}},
		"calls below 0":         {"steps", fields{"loader": 0, "sites": []fields{{"kind": "open", "calls": -1}}}},
		"a text for a number":   {"steps", fields{"loader": 0, "steps": fields{"steps": "5"}}},
		"a number for a text":   {"hello", fields{"python": 3.11}},
		"a list for an account": {"work", fields{"loader": 0, "work": []int{1}}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, 10)
			f.send(10, m.kind, m.more)
			f.pass(100 * time.Millisecond)
			if f.malformed != 1 || f.loaded != 0 {
				t.Errorf("%d malformed, %d loaded", f.malformed, f.loaded)
			}
			for _, s := range f.recorded().Series {
				for _, p := range s.Points {
					if p.Value < 0 || p.Value > 1e10 {
						t.Errorf("%s of %s is %v", s.Metric, s.Entity, p.Value)
					}
				}
			}
		})
	}
}

// Out of order, twice, some not at all: once the newest of each process has come totals are right, and none goes down.
func TestTotalsInAnyOrder(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		f := newFixture(t, 10, 11, 12)
		type one struct {
			pid  int
			data []byte
		}
		var sent, final []one
		for i := range int64(20) {
			for _, pid := range []int{11, 12} {
				sent = append(sent, one{pid, f.datagram(pid, "work", work(10*i, i*1e8))})
			}
			sent = append(sent, one{10, f.datagram(10, "steps", steps(i, i*1e8))},
				one{10, f.datagram(10, "epoch", epochOf(0, 11, 12))})
		}
		final = append(final, sent[len(sent)-4:]...)
		sent = append(sent, sent...)
		rng.Shuffle(len(sent), func(i, j int) { sent[i], sent[j] = sent[j], sent[i] })
		for _, m := range sent[:len(sent)*2/3] {
			f.deliver(m.pid, m.data)
			f.pass(100 * time.Millisecond)
		}
		for _, m := range final {
			f.deliver(m.pid, m.data)
		}
		f.pass(2 * time.Second)
		f.want("hook_items", "loop/10.110.0", 2*190)
		f.want("hook_steps", "loop/10.110.0", 19)
		for _, s := range f.recorded().Series {
			by := func(a, b recording.Point) int { return int(1e3 * (a.Value - b.Value)) }
			if !slices.IsSortedFunc(s.Points, by) {
				t.Errorf("seed %d: %s of %s goes down", seed, s.Metric, s.Entity)
			}
		}
		if f.malformed+f.refused+f.dropped != 0 {
			t.Errorf("seed %d: %d malformed, %d refused, %d dropped", seed, f.malformed, f.refused, f.dropped)
		}
	}
}

func TestTotalsThatShrinkAreNotBelieved(t *testing.T) {
	f := newFixture(t, 10)
	f.send(10, "steps", steps(50, 5e9))
	f.send(10, "steps", steps(49, 6e9))
	f.send(10, "work", work(50, 5e9))
	f.send(10, "work", work(60, 4e9))
	f.pass(100 * time.Millisecond)
	f.want("hook_wait_s", "loop/10.110.0", 5)
	f.want("hook_items", "loop/10.110.0", 50)
	if f.malformed != 2 {
		t.Errorf("%d malformed", f.malformed)
	}
}

func TestStateIsBounded(t *testing.T) {
	f := newFixture(t, 10, 11)
	many := func(name string, n int, send func(i int)) {
		for i := range n {
			if i%200 == 0 {
				f.at += time.Second
			}
			send(i)
		}
		f.pass(100 * time.Millisecond)
		if f.dropped == 0 {
			t.Errorf("%s: nothing was left out", name)
		}
		f.dropped = 0
	}
	many("loaders of one trainer", 300,
		func(i int) { f.send(10, "steps", fields{"loader": i, "steps": fields{"steps": 1}}) })
	many("lines", 400, func(i int) {
		f.send(10, "steps", fields{"loader": 0, "sites": []fields{{"kind": "sync", "what": "item",
			"file": fmt.Sprint("/f", i), "calls": 1}}})
	})
	many("epochs", 1500, func(i int) { f.send(10, "epoch", epochOf(i)) })
	many("processes", 5000, func(i int) {
		f.run(100 + i)
		f.send(100+i, "hello", nil)
	})
	if len(f.trainers) > maxTrainers || len(f.loops) > maxLoops || len(f.processes) > maxProcesses ||
		len(f.loops[0].siteList) > maxSites || f.epochs > maxEpochs {
		t.Errorf("%d trainers, %d loops, %d processes, %d lines, %d epochs", len(f.trainers), len(f.loops),
			len(f.processes), len(f.loops[0].siteList), f.epochs)
	}
	rec := f.recorded()
	if len(rec.Unseen) != 4 {
		t.Errorf("said: %v", rec.Unseen)
	}
	if n := len(f.events(recording.EventEpoch)); n > 400 {
		t.Errorf("%d epoch events", n)
	}
}

func TestAFloodIsNotLookedAt(t *testing.T) {
	f := newFixture(t, 10, 11, 12)
	f.send(10, "epoch", epochOf(0, 11))
	flood := f.datagram(12, "hello", fields{"cwd": strings.Repeat("x", 500)})
	const seconds, each = 5, readsPerSlice * 10 // what is read at most: a slice is a tenth of a second
	for i := range seconds * each {
		if i%(each/10) == 0 {
			f.send(11, "work", work(int64(i), int64(i)))
		}
		f.deliver(12, flood)
		f.at += time.Second / each
	}
	f.pass(100 * time.Millisecond)
	f.want("hook_items", "loop/10.110.0", seconds*each-each/10)
	if looked := seconds*each - f.dropped; looked > (seconds+1)*processBudget {
		t.Errorf("%d messages of the flood were looked at", looked)
	}
	if rec := f.recorded(); len(rec.Unseen) != 1 || rec.Unseen[0].Entity != "process/12.112" {
		t.Errorf("said: %v", rec.Unseen)
	}
}

// TestNoiseIsNotLookedAt: a process without a hook that sends what none sends is asked for now and then alone.
func TestNoiseIsNotLookedAt(t *testing.T) {
	for name, noise := range map[string]string{"no message": "\xff{",
		"without the token": `{"v": 1, "token": "0", "kind": "hello"}`} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, 10, 12)
			f.send(10, "hello", nil)
			const seconds, each = 2, 5000
			for range seconds * each {
				f.deliver(12, []byte(noise))
				f.at += time.Second / each
			}
			looks := int(seconds * time.Second / restTime)
			if f.asked != 1+looks || int(f.refused+f.malformed) != looks || int(f.dropped) != seconds*each-looks {
				t.Errorf("asked for %d times, %d refused, %d malformed, %d dropped; want %d looks", f.asked, f.refused,
					f.malformed, f.dropped, looks)
			}
			f.pass(100 * time.Millisecond)
			if rec := f.recorded(); len(rec.Unseen) != 1 || !strings.Contains(rec.Unseen[0].Reason, "once in 200ms") {
				t.Errorf("said: %v", rec.Unseen)
			}
			f.at += restTime
			f.send(12, "hello", nil)
			if f.loaded != 2 {
				t.Errorf("%d loaded: a process that was not heard stays unheard", f.loaded)
			}
		})
	}
}
