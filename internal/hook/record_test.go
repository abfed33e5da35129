package hook

import (
	"maps"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/recording"
)

func TestTotalsAreRecordedWhileThereIsNewsAndNowAndThenAfter(t *testing.T) {
	f := newFixture(t, 10)
	f.send(10, "steps", steps(5, 1e9))
	f.pass(time.Second)
	f.send(10, "steps", steps(6, 1e9))
	f.pass(10 * time.Second)
	points := f.points("hook_steps", "loop/10.110.0")
	if n := len(points); n < 34 || n > 42 { // 3 s of ticks, then one a second
		t.Errorf("%d readings", n)
	}
	for i := 1; i < len(points); i++ {
		if gap := points[i].At - points[i-1].At; gap > 1100*time.Millisecond {
			t.Errorf("%v without a reading at %v", gap, points[i].At)
		}
	}
	if points[9].Value != 5 || points[10].Value != 6 {
		t.Errorf("the readings around the second message are %v and %v", points[9].Value, points[10].Value)
	}
}

func TestWhatBeganBeforeTheRecordingIsInItsFirstReading(t *testing.T) {
	f := newFixture(t, 10)
	f.send(10, "steps", steps(500, 1e9))
	f.at += time.Hour
	f.sink.Tick(0)
	f.record(f.sink, f.at)
	if p := f.points("hook_steps", "loop/10.110.0"); len(p) != 1 || p[0].Value != 500 || p[0].At != 0 {
		t.Errorf("readings %v", p)
	}
}

func TestWhatIsNotCountedIsNotRecorded(t *testing.T) {
	f := newFixture(t, 10)
	f.send(10, "steps", fields{"loader": 0, "steps": fields{"steps": 3, "wait": 1}})
	f.pass(100 * time.Millisecond)
	for _, absent := range []string{"hook_aside_steps", "hook_samples", "hook_syncs", "hook_device_steps",
		"hook_device_waited_s", "hook_batch_bytes", "hook_items"} {
		if p := f.points(absent, "loop/10.110.0"); p != nil {
			t.Errorf("%s is %v", absent, p)
		}
	}
	f.want("hook_epochs", "loop/10.110.0", 0)
}

// TestLoadersWithoutANumberAreSaid once, and how many loaders have one number with the totals.
func TestLoadersWithoutANumberAreSaid(t *testing.T) {
	f := newFixture(t, 10)
	for i := range 3 {
		fixture := steps(int64(i+1), 1e9)
		fixture["untold"] = i
		fixture["steps"].(fields)["loaders"] = 4 + i
		f.send(10, "steps", fixture)
		f.pass(100 * time.Millisecond)
	}
	f.want("hook_loaders", "loop/10.110.0", 6)
	if unseen := f.recorded().Unseen; f.dropped != 2 || len(unseen) != 1 || unseen[0].Signal != "hook_*" ||
		unseen[0].Entity != "process/10.110" {
		t.Errorf("%d left out, said %v", f.dropped, unseen)
	}
}

func TestEpochs(t *testing.T) {
	f := newFixture(t, 10)
	epoch := func(number int, more fields) {
		e := fields{"number": number, "begun": int64(time.Hour) - 25e8, "create": 1e7, "steps": 4, "wait": 3e9,
			"wall": 5e9, "born": 2, "grad": true, "ended": false}
		maps.Copy(e, more)
		f.send(10, "epoch", fields{"loader": 0, "epoch": e})
		f.pass(100 * time.Millisecond)
	}
	epoch(0, nil)
	if n := len(f.events(recording.EventEpoch)); n != 0 {
		t.Fatalf("%d events of an epoch under way", n)
	}
	epoch(0, fields{"ended": true, "drain": 2e6, "first_wait": 15e8})
	epoch(0, fields{"ended": true, "drain": 2e6}) // reported twice
	epoch(1, fields{"drain": 7})
	epoch(2, nil)
	want := []map[string]string{
		{"epoch": "0", "begun_s": "-2.500000000", "create_s": "0.010000000", "first_wait_s": "1.500000000",
			"drain_s": "0.002000000", "steps": "4", "wait_s": "3.000000000", "wall_s": "5.000000000",
			"workers_born": "2", "grad": "1"},
		{"epoch": "1", "begun_s": "-2.500000000", "create_s": "0.010000000", "steps": "4", "wait_s": "3.000000000",
			"wall_s": "5.000000000", "workers_born": "2", "grad": "1"},
	}
	got := []map[string]string{}
	for _, e := range f.events(recording.EventEpoch) {
		if e.Entity != "loop/10.110.0" {
			t.Errorf("an epoch of %s", e.Entity)
		}
		got = append(got, e.Attrs)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for number := 3; number < 2501; number++ {
		epoch(number, nil)
	}
	events := f.events(recording.EventEpoch)
	if last := events[len(events)-1].Attrs; len(events) != 200+180+5 || last["epoch"] != "2400" ||
		last["each"] != "100" {
		t.Errorf("%d events, the last %v", len(events), last)
	}
}

func TestSpreads(t *testing.T) {
	for _, micros := range []int64{0, 1, 2, 10, 999, 1000, 1001, 123456, 1e6, 1e12, 1e18} {
		k := spreadClass(micros)
		low, high := math.Pow(10, float64(k)/20), math.Pow(10, float64(k+1)/20)
		if m := float64(micros); k < 0 || m > 1 && m < low*(1-1e-9) || k < spreadClasses-1 && m >= high*(1+1e-9) {
			t.Errorf("%d µs is of class %d, from %v to %v", micros, k, low, high)
		}
	}
	f := newFixture(t, 10)
	f.send(10, "steps", steps(1, 1))
	for range 2 {
		more := work(10, 1e9)
		more["work"].(fields)["times"] = []int{1000, 1000, 1020, 50000}
		f.send(10, "work", more)
		f.pass(100 * time.Millisecond)
	}
	f.pass(time.Second)
	k := "spread/10.110.0/" + strconv.Itoa(spreadClass(1000))
	if p := f.points("hook_fetch_spread", k); len(p) != 2 || p[0].Value != 3 || p[1].Value != 6 {
		t.Errorf("readings of %s: %v", k, p)
	}
}

func TestSlowItems(t *testing.T) {
	f := newFixture(t, 10, 11, 12)
	slow := func(pid int, list ...[3]int64) {
		f.send(pid, "work", fields{"loader": 0, "work": fields{"items": f.seq[pid], "slow": list}})
		f.pass(100 * time.Millisecond)
	}
	f.send(10, "epoch", epochOf(0, 11, 12))
	slow(11, [3]int64{17, 900000, 1}, [3]int64{-3, 5000, 1})
	slow(12, [3]int64{17, 800000, 1})
	slow(11, [3]int64{17, 900000, 3}, [3]int64{-3, 5000, 1})
	slow(11, [3]int64{17, 540000, 5}, [3]int64{-3, 5000, 1})
	for i := range int64(30) { // thirty more, of which twenty are slower than the one with -3
		slow(12, [3]int64{100 + i, 4990 + i, 1})
	}
	var of17 []map[string]string
	seen := map[string]bool{}
	for _, e := range f.events(recording.EventSlowItem) {
		seen[e.Attrs["index"]] = true
		if e.Attrs["index"] == "17" {
			of17 = append(of17, e.Attrs)
		}
	}
	want := []map[string]string{{"index": "17", "seconds": "0.900000", "times": "1"},
		{"index": "17", "seconds": "0.850000", "times": "2"},
		{"index": "17", "seconds": "0.875000", "times": "4"}, {"index": "17", "seconds": "0.583333", "times": "6"}}
	if diff := cmp.Diff(want, of17); diff != "" {
		t.Error(diff)
	}
	if !seen["-3"] || !seen["129"] {
		t.Errorf("seen %v", seen)
	}
}

func TestLostMessagesOfWorkersAreTheirTrainers(t *testing.T) {
	f := newFixture(t, 10, 11, 12)
	f.send(11, "hello", fields{"lost": 2, "parent": 10})
	f.send(10, "steps", steps(1, 1))
	f.send(10, "epoch", epochOf(0, 11))
	for _, lost := range []int{3, 5} {
		more := work(10, 1)
		more["lost"] = lost
		f.send(11, "work", more)
	}
	f.send(10, "hello", fields{"lost": 4})
	f.pass(100 * time.Millisecond)
	f.want("hook_lost_messages", "process/10.110", 9)
}

func TestAHookThatSwitchedItselfOffIsSaid(t *testing.T) {
	f := newFixture(t, 10, 11)
	f.send(10, "steps", steps(1, 1))
	f.send(10, "off", fields{"reason": "KeyError: '\x1b[2J' at loop.py:5"})
	f.send(11, "off", fields{"reason": ""})
	f.pass(100 * time.Millisecond)
	events := f.events(recording.EventHook)
	if len(events) != 4 || events[1].Attrs["state"] != "off" ||
		events[1].Attrs["reason"] != `KeyError: '\x1b[2J' at loop.py:5` {
		t.Errorf("events %v", events)
	}
	s := f.state()
	if len(s.Off) != 2 || s.Off[1] != (Off{PID: 11, Reason: "no reason given"}) {
		t.Errorf("off: %v", s.Off)
	}
}

func TestASecondRecordingHasAllAgain(t *testing.T) {
	f := newFixture(t, 10, 11, 12)
	made := fields{"loader": 0, "made": fields{"class": "DataLoader"}}
	more := steps(5, 1e9)
	more["steps"].(fields)["waits"] = []int{77}
	more["sites"] = []fields{{"kind": "sync", "what": "item", "file": "/a.py", "line": 3, "calls": 2}}
	f.send(10, "loader", made)
	f.send(10, "steps", more)
	f.send(10, "work", fields{"loader": 0, "work": fields{"items": 9, "slow": [][3]int64{{4, 7000, 1}}}})
	f.send(11, "off", fields{"reason": "x"})
	f.send(12, "work", fields{"parent": 10, "loader": 0, "work": fields{"items": 3}})
	f.pass(3 * time.Second)
	first := f.recorded()
	f.sink, _ = recording.NewRecorder(recording.Header{}, nil)
	f.anew()
	f.pass(100 * time.Millisecond)
	second := f.recorded()
	if len(second.Series) != len(first.Series) || len(second.Events) != len(first.Events) || len(first.Events) != 7 {
		t.Errorf("first %d series, %d events; second %d series, %d events", len(first.Series), len(first.Events),
			len(second.Series), len(second.Events))
	}
}
