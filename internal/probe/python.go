package probe

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pipetune/pipetune/internal/benchmark"
	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/python"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/internal/untrusted"
	"github.com/pipetune/pipetune/pkg/report"
)

//go:embed python/libraries.py
var librariesScript []byte

//go:embed python/timing/*.py
var timingFiles embed.FS

// timingParts are the files of the script that times libraries, in the order they run.
var timingParts = []string{"python/timing/answer.py", "python/timing/items.py", "python/timing/rounds.py",
	"python/timing/pictures.py", "python/timing/arrays.py", "python/timing/dataloader.py", "python/timing/main.py"}

// PythonLibraries asks an interpreter, given with its arguments, which libraries that read datasets it has, as "name
// version": itself first, then those of Pillow, OpenCV, torchvision, h5py, numpy and torch that are there. Heavy ones
// are not imported. The error says that argv is no Python 3.8 or newer, or does not work; the context bounds the time.
func PythonLibraries(ctx context.Context, argv []string) ([]string, error) {
	var list []string
	limit := pythonGrace
	if until, ok := ctx.Deadline(); ok {
		limit = time.Until(until)
	}
	asked, err := python.Question(librariesScript, nil)
	if err != nil {
		return nil, err
	}
	err = python.Listen(ctx, argv, asked, limit, func(line []byte) error {
		var got struct{ Libraries [][2]string }
		if err := json.Unmarshal(line, &got); err != nil {
			return fmt.Errorf("the interpreter answered nonsense: %w", err)
		}
		list = nil
		for _, l := range got.Libraries[:min(len(got.Libraries), 16)] {
			list = append(list, strings.TrimSpace(untrusted.Cut(l[0], 32).String()+" "+
				untrusted.Cut(l[1], 32).String()))
		}
		return nil
	})
	switch {
	case list != nil:
		return list, nil // what a library does on its way out does not matter
	case err != nil:
		return nil, fmt.Errorf("asking for its libraries: %w", err)
	}
	return nil, errors.New("asking for its libraries: it ended without an answer, as if it were no Python")
}

const (
	// pythonGrace is how long the interpreter may take beyond its time: a slow disk to import from, a slow mount.
	pythonGrace = 20 * time.Second
	// torchFrom is the least time to import torch in, which takes 1.7 s from the page cache (torch 1.13, Debian 12).
	torchFrom = 2500 * time.Millisecond
	// pixelLimit is what Pillow refuses, twice its PIL.Image.MAX_IMAGE_PIXELS: half a gigabyte of 24-bit pixels.
	pixelLimit = 178_956_970
	// What is kept of an interpreter's answers, at most; three libraries with six formats make 21 subjects.
	mostSubjects    = 64
	mostRoundsTaken = 1000
)

type timing struct {
	dataset.Sample
	Seconds    float64
	Seed       uint64
	BatchSize  int     `json:",omitempty"`
	TorchFrom  float64 // seconds from which on torch is imported
	NoTorch    string  `json:",omitempty"` // why it is not, however long there is
	HeldBytes  int64   // of items at a time
	PixelLimit int64
}

// answer is one line of the script's answer: a subject, a round of one, items that failed in one, or the end.
type answer struct {
	Subject *int
	Metric  string
	Labels  struct {
		Decoder, Version, Format, Cache, Order, Handle, Workers string

		BatchSize string `json:"batch_size"`
	}

	Round          *int
	Units, Seconds float64

	Failed    *int
	Count, Of int
	Reason    string

	Done  bool
	Notes []string
}

type subject struct {
	row    benchmark.Library
	decode bool // of items in memory
	rounds []round
}

type timed struct {
	subjects []subject
	warnings []string
	refusals []refusal
	done     bool
}

// refusal is why a library cannot read some items.
type refusal struct{ library, reason string }

func (t *timed) take(line []byte) error {
	var got answer
	if err := json.Unmarshal(line, &got); err != nil {
		return fmt.Errorf("the interpreter answered nonsense: %w", err)
	}
	at := func(i *int) *subject {
		if *i < 0 || *i >= len(t.subjects) {
			return nil
		}
		return &t.subjects[*i]
	}
	switch {
	case got.Subject != nil:
		return t.begin(got)
	case got.Round != nil:
		s := at(got.Round)
		if s == nil || !stat.Finite(got.Units, got.Seconds) || got.Units <= 0 || got.Seconds < 0 {
			return fmt.Errorf("the interpreter answered nonsense: a round of %v items in %v s", got.Units, got.Seconds)
		}
		if len(s.rounds) < mostRoundsTaken {
			s.rounds = append(s.rounds, round{Units: got.Units, Seconds: got.Seconds})
		}
	case got.Failed != nil:
		if s := at(got.Failed); s != nil {
			t.refused(s, got)
		}
	case got.Done:
		t.done = true
		for _, note := range got.Notes[:min(len(got.Notes), 16)] {
			t.warn("Python: " + untrusted.Cut(note, 300).String())
		}
	}
	return nil
}

// refused takes down what a library cannot read, and why: of pictures each format apart, and those that were decoded
// from memory before not a second time from their files.
func (t *timed) refused(s *subject, got answer) {
	reason := untrusted.Cut(got.Reason, 200).String()
	same := func(r refusal) bool { return r.library == s.row.Name && wording(r.reason) == wording(reason) }
	if !s.decode && slices.ContainsFunc(t.refusals, same) {
		return
	}
	t.refusals = append(t.refusals, refusal{s.row.Name, reason})
	items := "items"
	if s.row.Format != "" {
		items = s.row.Format + " items"
	}
	t.warn(fmt.Sprintf("%s cannot read %d of %d %s: %s", s.row.Name, got.Count, got.Of, items, reason))
}

func (t *timed) begin(got answer) error {
	decode := got.Metric == metric.DecodeTime.Name
	known := decode || got.Metric == metric.ItemTime.Name
	if !known || *got.Subject != len(t.subjects) || len(t.subjects) >= mostSubjects {
		return fmt.Errorf("the interpreter answered nonsense: subject %d, %q", *got.Subject, untrusted.Cut(got.Metric,
			40))
	}
	l, text := got.Labels, func(s string) string { return untrusted.Cut(s, 40).String() }
	count := func(s string) *int64 {
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return &n
		}
		return nil
	}
	t.subjects = append(t.subjects, subject{decode: decode, row: benchmark.Library{Name: text(l.Decoder),
		Version: text(l.Version), Format: text(l.Format),
		Way:       benchmark.Way{Cache: text(l.Cache), Order: text(l.Order), Handle: text(l.Handle)},
		BatchSize: count(l.BatchSize), Workers: count(l.Workers)}})
	return nil
}

// warn takes a warning once: the same pictures fail from the file and from memory.
func (t *timed) warn(text string) {
	if !slices.Contains(t.warnings, text) {
		t.warnings = append(t.warnings, text)
	}
}

func timePython(ctx context.Context, s *session) error {
	argv := s.options.Python
	script, err := python.Script(timingFiles, timingParts...)
	if err != nil {
		return err
	}
	list, err := PythonLibraries(ctx, argv)
	if err != nil {
		return err
	}
	s.result.Interpreter, s.result.Libraries = untrusted.Sanitize(strings.Join(argv, " ")), list
	room, noTorch, err := s.roomForPython()
	if err != nil {
		return err
	}
	sample, isWarm, err := s.warmed(ctx, s.time.part(warmUpShare))
	if err != nil {
		return err
	}
	seconds := s.time.left()
	asked, err := python.Question(script, timing{Sample: sample, Seconds: seconds.Seconds(), Seed: s.options.Seed,
		BatchSize: s.options.BatchSize, TorchFrom: torchFrom.Seconds(), NoTorch: noTorch, HeldBytes: room,
		PixelLimit: pixelLimit})
	if err != nil {
		return err
	}
	var got timed
	err = python.Listen(ctx, argv, asked, seconds+pythonGrace, got.take)
	figures := 0
	for _, one := range got.subjects {
		v, row := perUnit(one.rounds), one.row
		if v.N == 0 {
			continue
		}
		if !isWarm {
			row.Cache = ""
		}
		if row.Item = v; one.decode {
			row.Item, row.Decode = stat.Summary{}, v
		}
		s.result.Rows.Python = append(s.result.Rows.Python, row)
		figures++
	}
	for _, w := range got.warnings {
		s.warn(w)
	}
	switch {
	case figures > 0 && err != nil && ctx.Err() == nil:
		s.warn("Python: " + err.Error() + "; what it had timed until then is kept")
		return nil
	case figures > 0 || err != nil:
		return err
	case len(got.subjects) > 0:
		return errors.New("none of the interpreter's libraries could read an item")
	case !got.done:
		return errors.New("the interpreter ended without an answer")
	}
	s.abstain(report.ProbePython, "the interpreter has no library that reads these items: it has "+
		strings.Join(list, ", "), "name the interpreter your training uses with --python")
	return nil
}
