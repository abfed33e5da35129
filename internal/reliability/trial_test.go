//go:build reliability

package reliability

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/must"
)

// trial is one row of the page.
type trial struct {
	id     string // as in docs/data/reliability.md; what follows a hyphen names the variant
	fault  string // what goes wrong
	made   string // how it is made
	target string // what must hold
	long   bool   // minutes or hours: run by make night-trials, or by RELIABILITY_LONG=1
	given  string // the environment variable without which it cannot be made; "" for none
	run    func(t *stand)
}

// all is every trial there is, in the order of the page.
func all() []trial {
	return slices.Concat(
		stallTrials, pausedTrials, memoryTrials, appendTrials, stormTrials, brokenTrials, guestTrials, // H2 to H12
		crowdTrials, shapeTrials, benchLoadTrials, recordingTrials, floodTrials, soakTrials, // L1 to L8
		mountTrials(),      // F1
		gpuTrials,          // F12
		confinedTrials,     // A6
		harmlessTrials,     // H3
		callerTrials,       // H11
		helperTrials,       // F9, F13
		stoppedTrials,      // F3, F7
		unseenTrials,       // F10
		endTrials,          // F4
		reuseTrials,        // F5
		surroundingsTrials, // F2, F6, F15
		outputTrials,       // F8
		terminalTrials,     // F14
		mutationTrials,     // D3
		cutTrials,          // D4
		referenceTrials,    // D5, D7
		bombTrials,         // D6
		pictureTrials,      // D8
		linkTrials,         // D9
		corpusTrials,       // D2, D8-corpus
		nameTrials,         // N1, N3
		secretTrials,       // N4
		intruderTrials,     // A1 to A3
		metricsTrials,      // A4
		evilTrials,         // A5
		fuzzTrials,         // D10
		supplyTrials(),     // S1 to S7
	)
}

// inEveryTest names the trials that `make test` runs: some of each group, quick, and right on a machine that does other
// things as well.
var inEveryTest = []string{
	"H9-folder", "A6", "F12-lost", "F13", "F9-fork", "F8-odd", "F8-stdout", "F14-hup",
	"F14-second", "D3", "D4", "D5", "D7", "D9", "N1-files", "N1-hdf5", "N3", "N4-messages", "A1-same", "A3", "S4",
	"S5", "S6",
}

// TestTrials runs the short trials and writes a row of each that has run to RELIABILITY_PAGE, if that is set.
// RELIABILITY_LONG=1 has it run the long ones too, RELIABILITY_QUICK=1 only those of inEveryTest.
func TestTrials(t *testing.T) {
	m := findMachine(t)
	ran := 0
	for _, c := range all() {
		if c.long && os.Getenv("RELIABILITY_LONG") != "1" || os.Getenv("RELIABILITY_QUICK") == "1" &&
			!slices.Contains(inEveryTest, c.id) {
			continue
		}
		if c.given != "" && os.Getenv(c.given) == "" {
			t.Logf("%s cannot be run here, its row stays as it is: %s names nothing", c.id, c.given)
			continue
		}
		t.Run(c.id, func(t *testing.T) {
			s, began := newStand(t, m), time.Now()
			s.id = c.id
			ran++
			defer func() {
				if met := metUnawares(c.id, s.misses); len(met) > 0 && !s.Failed() {
					s.Errorf("listed as a known miss and met: %q", met)
				}
				t.Logf("%s took %.1f s", c.id, time.Since(began).Seconds())
				r := s.row(c)
				if page := os.Getenv("RELIABILITY_PAGE"); page != "" {
					if err := updatePage(page, r); err != nil {
						t.Error(err)
					}
				}
			}()
			c.run(s)
			s.leftNothing()
		})
	}
	if ran == 0 {
		t.Error("no trial of that name ran; the long ones run with RELIABILITY_LONG=1, as make night-trials does")
	}
}

// TestIDs holds the table of trials to itself: an id names one row.
func TestIDs(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range all() {
		if c.id == "" || c.fault == "" || c.made == "" || c.target == "" || c.run == nil {
			t.Errorf("trial %q is not filled in", c.id)
		}
		if seen[c.id] {
			t.Errorf("two trials are called %s", c.id)
		}
		seen[c.id] = true
	}
	for _, id := range inEveryTest {
		if !seen[id] {
			t.Errorf("there is no trial %s to run in every test", id)
		}
	}
	for _, n := range notRun {
		if seen[n.id] {
			t.Errorf("%s is both a trial and in the table of those that are not run", n.id)
		}
		seen[n.id] = true
	}
}

// stand is where one trial happens: the test, the machine, folders of its own, and what it has measured.
type stand struct {
	*testing.T
	id string // of the trial
	machine
	work    string // scratch on a disk, removed afterwards; the working folder of all that is started
	home    string // HOME of pipetune
	tmp     string // TMPDIR of pipetune: must be empty at the end
	runtime string // XDG_RUNTIME_DIR of pipetune: must be empty at the end
	said    []string
	shorter []string // the settings by which it was made shorter than the trial is
	misses  []string
	failure string
}

// measured adds a figure to the row: words with numbers, as they are to be read in a table.
func (s *stand) measured(format string, args ...any) {
	s.Helper()
	text := fmt.Sprintf(format, args...)
	s.Log("measured: " + text)
	s.said = append(s.said, text)
}

// missed says that a target was not reached, with the true figure. It fails the trial unless the miss is a known one.
func (s *stand) missed(format string, args ...any) {
	s.Helper()
	text := fmt.Sprintf(format, args...)
	if k, known := knownOf(s.id, text); known {
		s.Logf("MISSED: %s; known: %s", text, k.reason)
	} else {
		s.T.Errorf("MISSED: %s", text)
	}
	s.misses = append(s.misses, text)
}

// atMost says that a target was missed where a figure is above what it may be. The words end with the figure.
func (s *stand) atMost(figure, most float64, format string, args ...any) {
	s.Helper()
	if figure > most {
		s.missed(format, append(args, figure)...)
	}
}

// Errorf fails the trial and keeps the first reason for the row.
func (s *stand) Errorf(format string, args ...any) {
	s.Helper()
	if s.failure == "" {
		s.failure = fmt.Sprintf(format, args...)
	}
	s.T.Errorf(format, args...)
}

// Error is Errorf without a format.
func (s *stand) Error(args ...any) {
	s.Helper()
	s.Errorf("%s", strings.TrimSuffix(fmt.Sprintln(args...), "\n"))
}

// Fatalf is Errorf, and ends the trial.
func (s *stand) Fatalf(format string, args ...any) {
	s.Helper()
	s.Errorf(format, args...)
	s.FailNow()
}

// Fatal is Fatalf without a format.
func (s *stand) Fatal(args ...any) {
	s.Helper()
	s.Fatalf("%s", strings.TrimSuffix(fmt.Sprintln(args...), "\n"))
}

// row is what the page says of a trial that has run.
func (s *stand) row(c trial) row {
	result := "met"
	switch {
	case s.failure != "" || s.Failed() && len(s.misses) == 0:
		result = "**failed**: " + s.failure
	case len(s.misses) > 0:
		result = "**missed**: " + strings.Join(s.misses, "; ")
	case len(s.said) == 0:
		s.T.Errorf("%s has measured nothing", c.id)
	}
	if len(s.shorter) > 0 {
		result += " (shortened: " + strings.Join(s.shorter, ", ") + ")"
	}
	return row{c.id, c.fault, c.made, c.target, strings.Join(s.said, "; "), result, commit(),
		time.Now().UTC().Format(time.DateOnly)}
}

// newStand makes the folders and looks at the end for what is left in them.
func newStand(t *testing.T, m machine) *stand {
	work := must.Get(os.MkdirTemp("/var/tmp", "pipetune-trial-"))(t)
	s := &stand{T: t, machine: m, work: work, home: filepath.Join(work, "home"), tmp: filepath.Join(work, "tmp"),
		runtime: filepath.Join(work, "run")}
	for _, dir := range []string{s.home, s.tmp, s.runtime} {
		must.Do(t, os.Mkdir(dir, 0o700))
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(work); err != nil {
			t.Error(err)
		}
	})
	return s
}

// leftNothing fails the trial where pipetune has left a file in its temporary folders.
func (s *stand) leftNothing() {
	s.Helper()
	for _, dir := range []string{s.tmp, s.runtime} {
		for _, e := range must.Get(os.ReadDir(dir))(s) {
			s.Errorf("pipetune left %s", filepath.Join(dir, e.Name()))
		}
	}
	cores, err := filepath.Glob(filepath.Join(s.work, "core*"))
	if err != nil || len(cores) > 0 {
		s.Errorf("core files: %v %v", cores, err)
	}
}

// shortened notes for the row that a setting asks for less than the trial does by itself.
func (s *stand) shortened(name string, asked, otherwise float64) {
	if asked < otherwise {
		s.shorter = append(s.shorter, fmt.Sprintf("%s=%g", name, asked))
	}
}

// number is one from the environment.
func (s *stand) number(name string, otherwise float64) float64 {
	s.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n < 0 {
		s.Fatalf("%s=%q: a number is wanted", name, text)
	}
	return n
}

// setting is such a number, for the row if it asks for less than the trial does by itself.
func (s *stand) setting(name string, otherwise float64) float64 {
	s.Helper()
	n := s.number(name, otherwise)
	s.shortened(name, n, otherwise)
	return n
}

// minutes is how long a long trial may take: RELIABILITY_MINUTES, or what the trial suggests.
func (s *stand) minutes(otherwise float64) time.Duration {
	s.Helper()
	return time.Duration(s.setting("RELIABILITY_MINUTES", otherwise) * float64(time.Minute))
}

// until looks every 20 ms whether something holds. It fails the trial when that takes longer than limit, a safety net
// of minutes.
func (s *stand) until(limit time.Duration, what string, holds func() bool) {
	s.Helper()
	for deadline := time.Now().Add(limit); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.Fatalf("after %v still not: %s", limit, what)
		}
	}
}

// testdata is the absolute path of a file or folder of testdata: the programs of a trial run in a folder of its own.
func (s *stand) testdata(name string) string {
	s.Helper()
	return must.Get(filepath.Abs(filepath.Join("../../testdata", name)))(s)
}

// in is the path of a file in the trial's working folder.
func (s *stand) in(name string) string { return filepath.Join(s.work, name) }

// folder makes a new folder in the trial's own.
func (s *stand) folder(name string) string {
	s.Helper()
	return must.Get(os.MkdirTemp(s.work, name+"-"))(s)
}

// machine is what the trials run with.
type machine struct{ binary, python string }

func findMachine(t *testing.T) machine {
	binary := must.Get(filepath.Abs(cmp.Or(os.Getenv("PIPETUNE_BIN"), "../../bin/pipetune")))(t)
	if _, err := os.Stat(binary); errors.Is(err, os.ErrNotExist) {
		t.Fatalf("no %s: run make build", binary)
	}
	if os.Getuid() != 0 {
		t.Fatal("the trials make mounts, cgroups and other users' processes: run them as root, on a machine where " +
			"that does no harm")
	}
	return machine{binary: binary, python: must.Interpreter()}
}
