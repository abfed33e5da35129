package hook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/must"
)

// recordedMessages are messages that real jobs sent, one a line, by file; the token is the tests'.
func recordedMessages(t testing.TB) map[string][][]byte {
	t.Helper()
	files, err := filepath.Glob("testdata/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded messages: %v", err)
	}
	all := map[string][][]byte{}
	for _, name := range files {
		text := bytes.TrimSpace(must.Get(os.ReadFile(name))(t))
		all[filepath.Base(name)] = bytes.Split(text, []byte("\n"))
	}
	return all
}

// FuzzMessage holds that nothing a process of the job sends breaks the books, and that nothing unclean is recorded. A
// message is heard or else counted, once; of one that is heard, parts may be counted as left out.
func FuzzMessage(f *testing.F) {
	for _, messages := range recordedMessages(f) {
		for i := 0; i+1 < len(messages) && i < 12; i++ {
			f.Add(messages[i], messages[i+1])
		}
	}
	f.Add([]byte("{"), []byte(`{"token":"another"}`))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		l := newFixture(t, 10, 11)
		for i, data := range [][]byte{first, second, first} {
			if len(data) > MaxMessage {
				data = data[:MaxMessage]
			}
			before := l.refused + l.malformed + l.dropped
			l.take(sender{10 + i%2, testUID}, data, true, l.at)
			if counted := l.refused + l.malformed + l.dropped - before; l.lastSeen != l.at && counted != 1 {
				t.Errorf("message %d is not heard, and counted %d times", i, counted)
			}
			l.pass(100 * time.Millisecond)
		}
		if s := l.state(); s.Loaded > 2 || len(s.Trainers) > 2 {
			t.Errorf("state %+v", s)
		}
		rec := l.recorded()
		for _, series := range rec.Series {
			clean(t, series.Entity)
			last := 0.0
			for _, p := range series.Points {
				if p.Value < last && series.Metric != "hook_batch_bytes" {
					t.Errorf("%s of %s is %v after %v", series.Metric, series.Entity, p.Value, last)
				}
				last = p.Value
			}
		}
		for _, e := range rec.Events {
			for _, v := range e.Attrs {
				clean(t, v)
			}
		}
	})
}

func clean(t *testing.T, s string) {
	for _, r := range s {
		if r < ' ' || r == 0x7f || r == 0x202e {
			t.Errorf("unclean: %q", s)
		}
	}
}

// What real jobs sent is understood to the last field, and accepted to the last message.
func TestRecordedMessages(t *testing.T) {
	for name, messages := range recordedMessages(t) {
		f := newFixture(t)
		last := map[string]message{}
		for _, data := range messages {
			decoder := json.NewDecoder(bytes.NewReader(data))
			decoder.DisallowUnknownFields()
			var m message
			if err := decoder.Decode(&m); err != nil {
				t.Fatalf("%s: %v in %s", name, err, data)
			}
			f.start[m.PID] = 1
			f.at = time.Duration(m.At)
			f.take(sender{m.PID, testUID}, data, true, f.at)
			if m.Loader != nil {
				last[fmt.Sprint(m.Kind, m.PID, *m.Loader, m.Work == nil, m.Steps == nil)] = m
			}
		}
		f.sink.Tick(f.at)
		f.record(f.sink, f.at)
		if f.refused+f.malformed+f.dropped != 0 {
			t.Errorf("%s: %d refused, %d malformed, %d dropped", name, f.refused, f.malformed, f.dropped)
		}
		var items, steps, gotItems, gotSteps float64
		for _, m := range last {
			if m.Work != nil {
				items += float64(m.Work.Items)
			}
			if m.Steps != nil {
				steps += float64(m.Steps.Steps)
			}
		}
		for _, s := range f.recorded().Series {
			switch s.Metric {
			case "hook_items":
				gotItems += s.Points[0].Value
			case "hook_steps":
				gotSteps += s.Points[0].Value
			}
		}
		if items == 0 || items != gotItems || steps != gotSteps {
			t.Errorf("%s: %v items and %v steps recorded, told %v and %v", name, gotItems, gotSteps, items, steps)
		}
		if s := f.state(); len(s.Trainers) == 0 || s.Trainers[0].Call.File == "" {
			t.Errorf("%s: trainers %+v", name, s.Trainers)
		}
	}
}

// BenchmarkTake is the cost of a message that is looked at.
func BenchmarkTake(b *testing.B) {
	for name, messages := range recordedMessages(b) {
		b.Run(name, func(b *testing.B) {
			f := newFixture(b)
			size := 0
			for i := 0; b.Loop(); i++ {
				m := messages[i%len(messages)]
				if i%len(messages) == 0 {
					f.start[10]++ // another process, which counts from zero
					f.ledger.forgetAll()
				}
				size += len(m)
				f.at += 10 * time.Millisecond
				f.take(sender{10, testUID}, m, true, f.at)
			}
			b.ReportMetric(float64(size)/float64(b.N), "B/msg")
		})
	}
}

func (l *ledger) forgetAll() { *l = *newLedger(l.config, l.token, l.uid) }

// BenchmarkFlood sends as fast as it can from another process, and reports the CPU time of this one, the receiver.
func BenchmarkFlood(b *testing.B) {
	r := open(b, Config{})
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{senderEnv + "=" + filepath.Join(r.folder.path, socketName), senderEnv + "_FLOOD=1", senderEnv +
		"_DATA=" + helloOf(r, 1, 1)}
	must.Do(b, cmd.Start())
	defer func() {
		if err := cmd.Process.Kill(); err != nil {
			b.Error(err)
		}
		b.Log("the sender:", cmd.Wait())
	}()
	before, start := must.CPUTime(b), time.Now()
	for b.Loop() {
		time.Sleep(time.Second)
	}
	b.ReportMetric(100*float64(must.CPUTime(b)-before)/float64(time.Since(start)), "%cpu")
	b.ReportMetric(float64(refusals(r))/time.Since(start).Seconds(), "dropped/s")
}
