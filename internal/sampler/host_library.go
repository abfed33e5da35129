package sampler

import (
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/recording"
)

// hostWorker is the worker whose main thread is sampled.
type hostWorker struct {
	hostProcess
	id procfs.ID
}

// librariesEvery is how often their samples are recorded.
const librariesEvery = time.Second

// followWorker keeps a clock on the oldest worker of a trainer.
func (h *Host) followWorker(t *hostTrainer, workers []job.Process, sink recording.Sink) {
	if w := t.worker; w != nil {
		for _, p := range workers {
			if p.ID == w.id {
				return
			}
		}
		h.keep(w.threads, nil)
		t.worker = nil
	}
	if len(workers) > 0 && !t.refused && !t.refusedWorker {
		id := workers[0].ID
		t.worker = &hostWorker{id: id}
		h.adopt(&t.worker.hostProcess, id, id.PID, &t.libraries, sink)
		t.refusedWorker = t.worker.refused
	}
}

// emitLibraries records how often a trainer's worker was found in each library.
func (t *hostTrainer) emitLibraries(id procfs.ID, names []string, now time.Time, sink recording.Sink) {
	if !t.libraries.clocked || now.Sub(t.emitted) < librariesEvery {
		return
	}
	t.emitted = now
	sink.Add(metric.WorkerCode, job.CodeEntity(id, metric.CodeOther), float64(t.libraries.byClass[codeOther]))
	for i, name := range names {
		if n := t.libraries.byClass[codeLibrary+codeClass(i)]; n > 0 {
			sink.Add(metric.WorkerCode, job.CodeEntity(id, name), float64(n))
		}
	}
}

// libraries numbers the libraries that workers have mapped.
type libraries struct {
	names   []string // by number, codeLibrary being the first
	numbers map[string]codeClass
}

// place classifies ranges by the library that they are of.
func (l *libraries) place(ranges []procfs.CodeRange) codeMap {
	m := codeMap{ranges: ranges, classes: make([]codeClass, len(ranges))}
	for i, r := range ranges {
		if m.classes[i] = codeOf(r.Path); m.classes[i] != codeLibc {
			m.classes[i] = l.number(libraryOf(r.Path))
		}
	}
	return m
}

func (l *libraries) number(name string) codeClass {
	if n, known := l.numbers[name]; known || name == "" || len(l.names) > maxCodeClass-int(codeLibrary) {
		return n // of what is not known any more: codeOther
	}
	if l.numbers == nil {
		l.numbers = map[string]codeClass{}
	}
	n := codeLibrary + codeClass(len(l.names))
	l.names, l.numbers[name] = append(l.names, name), n
	return n
}

var (
	inPackages = regexp.MustCompile(`/(?:site|dist)-packages/([^/.]+)`)
	plainName  = regexp.MustCompile(`^[A-Za-z0-9_+]{1,32}$`)
)

// libraryOf names the library that a mapped file is of: libjpeg, whatever its version and whoever brought it, PIL for
// what is in a package of Python's, and Python itself. "" for what is none or has an odd name.
func libraryOf(file string) string {
	name, _, _ := strings.Cut(path.Base(file), ".")
	name, _, _ = strings.Cut(name, "-") // wheels put a hash behind the names of what they bring
	switch {
	case strings.HasPrefix(name, "python"), strings.HasPrefix(name, "libpython"):
		name = metric.CodePython
	case !strings.HasPrefix(name, "lib"):
		if m := inPackages.FindStringSubmatch(file); m != nil {
			name = m[1]
		}
	}
	if !plainName.MatchString(name) {
		return ""
	}
	return name
}
