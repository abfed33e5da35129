package recording

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
)

// bounded is a recorder with room for that many readings, and its file.
func bounded(t testing.TB, readings int) (*Recorder, *bytes.Buffer) {
	t.Helper()
	var file bytes.Buffer
	r := must.Get(NewRecorder(Header{Mode: "attach"}, NewWriter(&file)))(t)
	r.held.bound = readings
	return r, &file
}

func points(rec *Recording) (n int) {
	for _, s := range rec.Series {
		n += len(s.Points)
	}
	return n
}

// readsBack holds that a file reads as what was in memory.
func readsBack(t *testing.T, file []byte, want *Recording) {
	t.Helper()
	if d := cmp.Diff(want, must.Get(Read(bytes.NewReader(file)))(t)); d != "" {
		t.Errorf("read back differs (-want +got):\n%.2000s", d)
	}
}

// TestLongWatchIsBounded: a watch a hundred times as long as there is room for keeps its first and last readings and
// covers the whole time evenly, and its file reads as what was in memory.
func TestLongWatchIsBounded(t *testing.T) {
	const room, ticks = 2000, 50_000
	r, file := bounded(t, room)
	for i := range ticks {
		r.Tick(time.Duration(i) * 100 * time.Millisecond)
		r.Add(metric.CPUBusy, "host", float64(i))
		if i%5 == 0 {
			r.Add(metric.ProcCPU, "process/7.1", float64(i))
			r.Add(metric.ProcCPU, "process/8.1", float64(i))
		}
		must.Do(t, r.Flush())
		if n := points(&r.rec); n > room {
			t.Fatalf("%d readings after tick %d", n, i)
		}
	}
	rec := must.Get(r.Finish(End{At: ticks * 100 * time.Millisecond, Reason: "duration"}))(t)
	if n := points(rec); n < room/3 {
		t.Errorf("%d readings are left of room for %d", n, room)
	}
	for _, s := range rec.Series {
		first, last := s.Points[0], s.Points[len(s.Points)-1]
		if first.At != 0 || last.At < (ticks-5)*100*time.Millisecond {
			t.Errorf("%s of %s is from %s to %s", s.Metric, s.Entity, first.At, last.At)
		}
		for i := 1; i < len(s.Points); i++ {
			if gap := s.Points[i].At - s.Points[i-1].At; gap > time.Duration(rec.OneOf)*time.Second {
				t.Errorf("%s of %s has a hole of %s at %s; one in %d is kept", s.Metric, s.Entity, gap, s.Points[i].At,
					rec.OneOf)
			}
			if s.Points[i].Value*0.1 != s.Points[i].At.Seconds() &&
				s.Points[i].Value != float64(s.Points[i].At/(100*time.Millisecond)) {
				t.Fatalf("%s of %s says %g at %s", s.Metric, s.Entity, s.Points[i].Value, s.Points[i].At)
			}
		}
	}
	readsBack(t, file.Bytes(), rec)
	if lines := bytes.Count(file.Bytes(), []byte("\n")); lines > 6*room {
		t.Errorf("the file has %d lines for room of %d readings", lines, room)
	}
}

// TestLastReadingStands: where the newest reading of a series came too soon to be kept, it is kept when the process is
// gone.
func TestLastReadingStands(t *testing.T) {
	r, file := bounded(t, 300)
	at := func(i int) { r.Tick(time.Duration(i) * 100 * time.Millisecond) }
	for i := range 200 {
		at(i)
		r.Add(metric.CPUBusy, "host", 1)
		r.Add(metric.ProcCPU, "process/7.1", float64(i))
		must.Do(t, r.Flush())
	}
	if r.rec.OneOf == 0 {
		t.Fatal("nothing was thinned")
	}
	at(200)
	r.Event(EventExit, "process/7.1", nil)
	r.Add(metric.ProcCPU, "process/7.1", 200) // what was read of it before it went is reported in the same tick
	rec := must.Get(r.Finish(End{At: 21 * time.Second}))(t)
	s := rec.Series[1].Points
	if n := len(s); s[n-1].Value != 200 || s[n-2].Value != 199 {
		t.Errorf("the last readings are %v", s[n-2:])
	}
	readsBack(t, file.Bytes(), rec)
}

// TestProcessesAreBounded: of ever new processes the first are kept; what is left out is counted, and when that began
// is reported.
func TestProcessesAreBounded(t *testing.T) {
	r, file := bounded(t, maxReadings)
	const births = 3 * MaxProcesses
	for i := range births {
		r.Tick(time.Duration(i) * 100 * time.Millisecond)
		worker := fmt.Sprintf("process/%d.1", i)
		r.Event(EventProcess, worker, map[string]string{"role": "worker"})
		r.Add(metric.ProcCPU, worker, 1)
		r.Unseen("looks_*", worker, "refused", "")
		r.Add(metric.CPUBusy, "host", 1)
		r.Event(EventExit, worker, nil)
		must.Do(t, r.Flush())
	}
	r.Event(EventJobEnded, "", nil)
	rec := must.Get(r.Finish(End{At: births * 100 * time.Millisecond}))(t)
	if n := len(rec.Series); n != MaxProcesses+1 {
		t.Errorf("%d series", n)
	}
	kinds := map[string][]time.Duration{}
	for _, e := range rec.Events {
		kinds[e.Kind] = append(kinds[e.Kind], e.At)
	}
	full := time.Duration(MaxProcesses) * 100 * time.Millisecond
	if len(kinds[EventProcess]) != MaxProcesses || len(kinds[EventExit]) != MaxProcesses ||
		len(kinds[EventJobEnded]) != 1 ||
		len(kinds[EventFull]) != 1 || kinds[EventFull][0] != full {
		t.Errorf("births %d, exits %d, full %v", len(kinds[EventProcess]), len(kinds[EventExit]), kinds[EventFull])
	}
	last := rec.Unseen[len(rec.Unseen)-1].Reason
	if want := fmt.Sprintf("%d readings and %d births", births-MaxProcesses,
		2*(births-MaxProcesses)); !strings.Contains(last, want) || len(rec.Unseen) != MaxProcesses+1 {
		t.Errorf("%d unseen, the last: %s; want %s", len(rec.Unseen), last, want)
	}
	readsBack(t, file.Bytes(), rec)
}

// TestReadIsBounded: a file that does not say where to thin, written by a program without bounds, is thinned while it
// is read.
func TestReadIsBounded(t *testing.T) {
	const ticks = maxReadings/100 + maxReadings/100/2
	file := bytes.NewBufferString(headerLine)
	values := ""
	for i := range 100 {
		fmt.Fprintf(file, `{"series":[%d,"cpu_busy_seconds","cpu/%d"]}`+"\n", i, i)
		values += fmt.Sprintf(",[%d,1]", i)
	}
	for i := range ticks {
		fmt.Fprintf(file, `{"t":%d.%d,"v":[%s]}`+"\n", i/10, i%10, values[1:])
	}
	rec := must.Get(Read(file))(t)
	if n := points(rec); n > maxReadings/4*5 || rec.OneOf != 2 {
		t.Errorf("%d readings, one of %d", n, rec.OneOf)
	}
}

// TestSeriesGrowEvenly: series that began together take their memory little by little, and not all at one tick.
func TestSeriesGrowEvenly(t *testing.T) {
	const series, ticks = 200, 6000
	r, _ := bounded(t, maxReadings)
	r.out = nil
	entities := make([]string, series)
	for i := range entities {
		entities[i] = fmt.Sprintf("cpu/%d", i)
	}
	room := func() (n int) {
		for _, s := range r.rec.Series {
			n += cap(s.Points)
		}
		return n
	}
	before, step := 0, 0
	for i := range ticks {
		r.Tick(time.Duration(i) * 100 * time.Millisecond)
		for _, e := range entities {
			r.Add(metric.CPUBusy, e, float64(i))
		}
		now := room()
		if i > 1000 {
			step = max(step, now-before)
		}
		before = now
	}
	if held := points(&r.rec); before > held+held/16 {
		t.Errorf("room for %d readings is held for %d", before, held)
	}
	if step > series*ticks/100 {
		t.Errorf("the memory grew by %d readings in one tick", step)
	}
}
