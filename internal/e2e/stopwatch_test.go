package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"sort"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/stat"
)

// reading is one record of a trainer's stop-watch (testdata/jobs/stopwatch.py): running totals at a moment of
// CLOCK_MONOTONIC.
type reading struct {
	T         float64 `json:"t"`
	Wait      float64 `json:"wait"`
	Evaluated float64 `json:"evaluated"`
	Batches   float64 `json:"batches"`
}

// measured is what a stop-watch says about a window.
type measured struct {
	waitRatio     float64
	batchesPerSec float64
}

func median(values []float64) float64 { return stat.Median(values).Center }

// monotonic returns CLOCK_MONOTONIC in seconds, the clock of the stop-watch and of recordings.
func monotonic() float64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic(err) // the kernel always has this clock
	}
	return float64(now.Nano()) / 1e9
}

// readStopwatch reads all complete records of the file; the first line is a header.
func readStopwatch(path string) ([]reading, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var readings []reading
	lines := bufio.NewScanner(file)
	for first := true; lines.Scan(); first = false {
		if first {
			continue
		}
		var r reading
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			break // the last line may still be on its way
		}
		readings = append(readings, r)
	}
	return readings, lines.Err()
}

// stopwatchPID is the trainer's process number as its stop-watch tells it.
func stopwatchPID(t *testing.T, path string) int {
	t.Helper()
	text := must.Get(os.ReadFile(path))(t)
	line, _, _ := bytes.Cut(text, []byte("\n"))
	var header struct {
		PID int `json:"pid"`
	}
	if err := json.Unmarshal(line, &header); err != nil || header.PID == 0 {
		t.Fatalf("%s begins with %.100q, not with its trainer: %v", path, line, err)
	}
	return header.PID
}

// stopwatchFiles lists the stop-watch of each rank: path, path.1, path.2, …
func stopwatchFiles(path string) ([]string, error) {
	more, err := filepath.Glob(path + ".*")
	return append([]string{path}, more...), err
}

// readStopwatches reads the stop-watches of all ranks.
func readStopwatches(path string) ([][]reading, error) {
	files, err := stopwatchFiles(path)
	if err != nil {
		return nil, err
	}
	var ranks [][]reading
	for _, path := range files {
		readings, err := readStopwatch(path)
		if err != nil {
			return nil, err
		}
		ranks = append(ranks, readings)
	}
	return ranks, nil
}

// flowing reports whether every rank has got at least five batches and trained for two seconds since the second.
func flowing(ranks [][]reading) bool {
	for _, readings := range ranks {
		second := sort.Search(len(readings), func(i int) bool { return readings[i].Batches >= 2 })
		if second == len(readings) {
			return false
		}
		last := readings[len(readings)-1]
		if last.Batches < 5 || last.T-readings[second].T < 2 {
			return false
		}
	}
	return len(ranks) > 0
}

// at interpolates the totals at time t. Between two readings lie either many short phases or a single long one, so a
// straight line is right (see stopwatch.py); batches jump at the end of a wait, which costs at most one batch.
func at(readings []reading, t float64) (reading, bool) {
	i := sort.Search(len(readings), func(i int) bool { return readings[i].T >= t })
	if i == len(readings) || i == 0 {
		return reading{}, false
	}
	a, b := readings[i-1], readings[i]
	share := (t - a.T) / (b.T - a.T)
	between := func(x, y float64) float64 { return x + share*(y-x) }
	return reading{T: t, Wait: between(a.Wait, b.Wait), Evaluated: between(a.Evaluated, b.Evaluated),
		Batches: between(a.Batches, b.Batches)}, true
}

// over returns what the stop-watches say about [from, to] without evaluations: the input wait of the worst rank, which
// is what a report on several ranks is about, and the mean of their batches/s, which are the same because they train in
// step.
func over(ranks [][]reading, from, to float64) (measured, bool) {
	var m measured
	for _, readings := range ranks {
		a, okA := at(readings, from)
		b, okB := at(readings, to)
		if !okA || !okB {
			return measured{}, false
		}
		trained := to - from - (b.Evaluated - a.Evaluated)
		m.waitRatio = max(m.waitRatio, (b.Wait-a.Wait)/trained)
		m.batchesPerSec += (b.Batches - a.Batches) / trained / float64(len(ranks))
	}
	return m, len(ranks) > 0
}
