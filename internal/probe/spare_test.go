package probe

import (
	"strings"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// leaves is a limit that leaves so much.
func leaves(bytes int64) func() (int64, bool) { return func() (int64, bool) { return bytes, true } }

// Beside a job under a tight limit no cache is tried, and no process started, that could have the kernel end the job.
func TestMemoryThatIsShortIsNotTaken(t *testing.T) {
	sample, layout := surveyedHDF5(t, "gzip", "a.h5")
	s := testSession(t, sample, Options{Layout: layout, CPUs: 4, NoCold: true, Budget: 2 * time.Second,
		Spare: leaves(4 << 20)})
	for _, c := range s.sweep() {
		if c.bytes > 2<<20 {
			t.Errorf("%s, with 4 MiB left", c.what)
		}
	}
	warned(t, s.result, "chunk caches of more than 2 MiB were not tried")
	must.Do(t, scaling(t.Context(), s))
	warned(t, s.result, "warm reads by 2 processes and more were left out: they would take")
	if rates := found(s.result, report.ProbeScaling, metric.ItemRate); len(rates) != 1 {
		t.Errorf("%d numbers of processes, want 1", len(rates))
	}
}

// A process is taken to grow as large as the largest is.
func TestRoomForProcesses(t *testing.T) {
	s := testSession(t, rawSample(t, 4096, 64, "a"), Options{})
	c := &workerGroup{session: s}
	defer c.close()
	must.Do(t, c.startUpTo(t.Context(), 1))
	own := ownPages(c.processes[0].pid)
	if own <= 0 || own > 1<<30 {
		t.Fatalf("a process has %d bytes of its own", own)
	}
	t.Logf("a process has %s of its own", unit.Bytes(float64(own)))
	each := max(own, leastWorker)
	const grown = 1 << 20 // pages that may come between this reading and the next
	for _, x := range []struct {
		count int
		spare int64
		fits  bool
	}{{2, 2*each - own + grown, true}, {2, 2*each - own - grown, false}, {4, 4 * each, true}, {4, 3 * each / 2, false},
		{1, 0, true}} {
		s.options.Spare = leaves(x.spare)
		if err := c.roomFor(x.count); (err == nil) != x.fits {
			t.Errorf("%d processes with %s: %v", x.count, unit.Bytes(float64(x.spare)), err)
		}
	}
}

func TestPythonWithLittleMemory(t *testing.T) {
	sample := rawSample(t, 4096, 16, "a")
	s := pythonSession(t, []string{realPython(t)}, sample, torchFrom+time.Second)
	s.options.Spare = leaves(pythonTakes)
	must.Do(t, timePython(t.Context(), s))
	onlyOne(t, s, metric.ItemTime, "decoder=python")
	warned(t, s.result, "torch was left out: it takes some 256 MiB of memory, and 64 MiB may be taken")
	s = pythonSession(t, []string{realPython(t)}, sample, time.Second)
	s.options.Spare = leaves(pythonTakes - 1)
	if err := timePython(t.Context(), s); err == nil || !strings.Contains(err.Error(), "of memory") {
		t.Errorf("with less than it takes: %v", err)
	}
}
