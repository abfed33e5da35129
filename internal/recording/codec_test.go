package recording

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
)

// headerLine is all that a file needs to be a recording.
const headerLine = `{"header":{"schema":"pipetune.recording","schema_version":"1.0.0"}}` + "\n"

func sample(t testing.TB) ([]byte, *Recording) {
	t.Helper()
	var b bytes.Buffer
	r := must.Get(NewRecorder(Header{Tool: Tool{Name: "pipetune", Version: "test"}, StartedAt: time.Unix(1700000000,
		0).UTC(), StartMonotonic: 42 * time.Second, Mode: "attach",
		Interval: 100 * time.Millisecond, Job: Job{PID: 7, Command: []string{"python", "train.py"},
			Trainers: []string{"process/7.1"}}}, NewWriter(&b)))(t)
	for i := range 3 {
		r.Tick(time.Duration(i) * 100 * time.Millisecond)
		r.Add(metric.CPUBusy, "host", 1.5+float64(i))
		r.Add(metric.ProcCPU, "process/7.1", float64(i))
		r.Add(metric.ProcRSS, "process/7.1", math.NaN())
		if i == 1 {
			r.Event(EventProcess, "process/7.1", map[string]string{"role": "trainer", "comm": "a\nb|\x1b"})
			r.Unseen("gpu_*", "", "no NVML library", "install the driver")
			r.Unseen("gpu_*", "", "no NVML library", "install the driver")
		}
		must.Do(t, r.Flush())
	}
	r.Header().Host.Kernel = "6.1"
	rec := must.Get(r.Finish(End{At: 300 * time.Millisecond, Reason: "duration",
		Overhead: Overhead{CPUSeconds: 0.01}}))(t)
	return b.Bytes(), rec
}

func TestRoundTrip(t *testing.T) {
	file, want := sample(t)
	readsBack(t, file, want)
	if len(want.Unseen) != 1 {
		t.Errorf("the same note was kept %d times", len(want.Unseen))
	}
	if len(want.Series) != 2 {
		t.Errorf("%d series; a reading that is not finite must make none", len(want.Series))
	}
}

// TestCutAnywhere cuts a recording at every byte: either it reads as what was whole until then, or it is refused for
// lack of a header.
func TestCutAnywhere(t *testing.T) {
	file, whole := sample(t)
	headerEnds := bytes.IndexByte(file, '\n') + 1
	for k := range file {
		rec, err := Read(bytes.NewReader(file[:k]))
		switch {
		case k < headerEnds && !errors.Is(err, ErrNotRecording):
			t.Fatalf("cut at %d: %v, want ErrNotRecording", k, err)
		case k >= headerEnds && err != nil:
			t.Fatalf("cut at %d: %v", k, err)
		case k >= headerEnds && (rec.End != nil || len(rec.Series) > len(whole.Series)):
			t.Fatalf("cut at %d: read more than was written", k)
		}
	}
}

func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		file string
		want error
	}{
		"empty":               {"", ErrNotRecording},
		"a report":            {`{"schema":"pipetune.report"}` + "\n", ErrNotRecording},
		"not JSON":            {"hello\n", ErrNotRecording},
		"newer major":         {`{"header":{"schema":"pipetune.recording","schema_version":"2.0.0"}}` + "\n", ErrNewer},
		"unreadable version":  {`{"header":{"schema":"pipetune.recording","schema_version":"x"}}` + "\n", ErrNewer},
		"damaged line":        {headerLine + "{]\n", ErrDamaged},
		"unnamed series":      {headerLine + `{"t":1,"v":[[0,1]]}` + "\n", ErrDamaged},
		"series out of order": {headerLine + `{"series":[5,"a","b"]}` + "\n", ErrDamaged},
		"time backwards": {headerLine + `{"series":[0,"a","b"]}` + "\n" + `{"t":2,"v":[[0,1]]}` + "\n" +
			`{"t":1,"v":[[0,1]]}` + "\n", ErrDamaged},
		"negative time": {headerLine + `{"t":-1,"v":[]}` + "\n", ErrDamaged},
		"endless time":  {headerLine + `{"end":{"t":1e300}}` + "\n", ErrDamaged},
		"endless line":  {headerLine + strings.Repeat("x", maxLine+1), ErrDamaged},
		"more notes than a watch makes": {headerLine +
			strings.Repeat(`{"unseen":{"signal":"a","reason":"b"}}`+"\n", maxUnseen+1), ErrDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Read(strings.NewReader(c.file)); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

// TestFullDisk lets each write fail in turn: what was written before stays readable, and the recording in memory is
// whole.
func TestFullDisk(t *testing.T) {
	for room := range 12 {
		w := &failing{room: room}
		r, err := NewRecorder(Header{}, NewWriter(w))
		if err != nil {
			if room > 0 {
				t.Fatalf("room for %d writes: %v", room, err)
			}
			continue
		}
		var failed error
		for i := range 20 {
			r.Tick(time.Duration(i) * time.Second)
			r.Add(metric.CPUBusy, "host", float64(i))
			if err := r.Flush(); err != nil {
				failed = err
			}
		}
		if failed == nil {
			t.Fatalf("room for %d writes and no error", room)
		}
		rec, err := r.Finish(End{At: 20 * time.Second})
		if err != nil || len(rec.Series[0].Points) != 20 {
			t.Errorf("room for %d writes: %v, %d points in memory", room, err, len(rec.Series[0].Points))
		}
		if _, err := Read(&w.Buffer); err != nil {
			t.Errorf("room for %d writes: %v", room, err)
		}
	}
}

type failing struct {
	bytes.Buffer
	room int
}

func (f *failing) Write(b []byte) (int, error) {
	if f.room--; f.room < 0 {
		return 0, errors.New("no space left on device")
	}
	return f.Buffer.Write(b)
}

// TestReadHoldsNoMoreThanItMay gives the reader what a watch never records, in lines that are each in order.
func TestReadHoldsNoMoreThanItMay(t *testing.T) {
	for name, line := range map[string]string{
		"long notes":   `{"unseen":{"signal":"a","reason":"` + strings.Repeat("r", 1<<20) + `"}}`,
		"long entity":  `{"event":{"t":1,"kind":"a","entity":"` + strings.Repeat("e", 1<<20) + `"}}`,
		"long value":   `{"event":{"t":1,"kind":"a","attrs":{"b":"` + strings.Repeat("v", 1<<20) + `"}}}`,
		"many of them": `{"event":{"t":1,"kind":"a","attrs":{` + manyKeys(20_000) + `}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			lines := strings.NewReader(strings.Repeat(line+"\n", 6))
			_, err := read(io.MultiReader(strings.NewReader(headerLine), lines), held{most: 4 << 20})
			if !errors.Is(err, ErrDamaged) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func manyKeys(n int) string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf(`"%d":"x"`, i)
	}
	return strings.Join(keys, ",")
}

func FuzzRead(f *testing.F) {
	file, _ := sample(f)
	f.Add(file)
	f.Add([]byte(headerLine + `{"series":[0,"a","b"]}` + "\n" + `{"t":1,"v":[[0,1e999]]}` + "\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		rec, err := Read(bytes.NewReader(b))
		if err == nil && rec == nil {
			t.Fatal("neither a recording nor an error")
		}
	})
}
