package sampler

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/perf"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/recording"
)

const (
	// librariesEvery is how often samples by library are recorded.
	librariesEvery = time.Second
	// workerTurn is how long one worker of several is sampled.
	workerTurn = 5 * time.Second
)

// hostWorker is the worker whose main thread is sampled.
type hostWorker struct {
	hostProcess
	id     procfs.ID
	since  time.Time
	counts hostCounts // since they were last added to those of all workers

	begun   time.Duration // CPU time of the thread when its clock was opened, or samples were lost; 0: not known
	sampled uint64        // samples since then, of user code
	kernel  uint64        // what was counted as the kernel's since then
	drained time.Time     // when samples were taken last
}

// codeOfWorkers are a trainer's workers by what they execute, libraries or the kernel. One is sampled at a time.
type codeOfWorkers struct {
	worker    *hostWorker // nil: there is none, or none that may be sampled
	byLibrary map[string]uint64
	recorded  map[string]uint64 // of these, what was recorded last
	at        time.Time         // when that was
	refused   bool              // the kernel gave no clock on one
}

// followWorkers keeps a clock on one of a trainer's workers: the next one when its turn is over, or it has ended.
func (h *Host) followWorkers(c *codeOfWorkers, trainer procfs.ID, workers []job.Process, sink recording.Sink) {
	next := 0
	if w := c.worker; w != nil {
		i := slices.IndexFunc(workers, func(p job.Process) bool { return p.ID == w.id })
		if i >= 0 && (len(workers) == 1 || h.clock().Sub(w.since) < workerTurn) {
			return
		}
		next = i + 1
		w.end(c)
		c.inKernel(h.clock(), h.used)
		h.keep(w.threads, nil)
		c.worker = nil
	}
	if len(workers) == 0 || c.refused {
		return
	}
	id := workers[next%len(workers)].ID
	w := &hostWorker{id: id, since: h.clock()}
	w.begun, _ = h.used(id) // where it cannot be read nothing is the kernel's: inKernel
	h.adopt(&w.hostProcess, id.PID, &w.counts, unseenCode{metric.WorkerCode.Name, job.Entity(trainer)}, sink)
	c.refused = w.refused
	if len(w.threads) > 0 {
		c.worker = w
	}
}

// sample takes what the worker executed since the last time, and records it now and then.
func (c *codeOfWorkers) sample(trainer procfs.ID, now time.Time, code func(procfs.ID) ([]procfs.Mapping, error),
	used func(procfs.ID) (time.Duration, error), sink recording.Sink) {
	if w := c.worker; w != nil {
		c.add(w) // by the map that it was counted by
		w.read(now, newLibraryMap, func() ([]procfs.Mapping, error) { return code(w.id) })
		c.add(w)
		if w.unread != nil {
			unread(sink, metric.WorkerCode.Name, job.Entity(trainer), w.unread, "")
			w.unread = nil
		}
	}
	c.inKernel(now, used)
	if now.Sub(c.at) < librariesEvery {
		return
	}
	c.at = now
	for library, n := range c.byLibrary {
		last, known := c.recorded[library]
		if !known { // a counter grows from its first reading on
			c.recorded[library] = 0
			sink.Add(metric.WorkerCode, job.CodeEntity(trainer, library), 0)
		} else if n != last {
			c.recorded[library] = n
			sink.Add(metric.WorkerCode, job.CodeEntity(trainer, library), float64(n))
		}
	}
}

// add moves a worker's samples to those of all.
func (c *codeOfWorkers) add(w *hostWorker) {
	if w.counts.total == 0 {
		return
	}
	for class, n := range w.counts.byClass {
		if n > 0 {
			name := metric.CodeOther
			if i := class - int(codeLibrary); i >= 0 && i < len(w.code.names) {
				name = w.code.names[i]
			}
			c.byLibrary[name] += n
		}
	}
	w.sampled += w.counts.total
	w.counts = hostCounts{clocked: true}
}

// mostUndrained is how long samples may be left where they are: as long as the thread can compute until some are lost.
const mostUndrained = 1500 * time.Millisecond

// inKernel counts the samples that a worker's clock dropped because they fell into the kernel: what its CPU time since
// the clock was opened had brought without. Where samples may have been lost it begins anew.
func (c *codeOfWorkers) inKernel(now time.Time, used func(procfs.ID) (time.Duration, error)) {
	w := c.worker
	if w == nil {
		return
	}
	late := !w.drained.IsZero() && now.Sub(w.drained) > mostUndrained
	w.drained = now
	if !w.known {
		return
	}
	cpu, err := used(w.id)
	if err != nil || cpu < w.begun {
		return
	}
	if late || w.begun == 0 {
		w.begun, w.sampled, w.kernel = cpu, 0, 0
	}
	c.byLibrary[metric.CodeKernel] += 0 // none is a figure too
	all, seen := uint64((cpu-w.begun).Seconds()*perf.Hertz), w.sampled+w.kernel+uint64(len(w.unmappedSample))
	if all > seen {
		w.kernel += all - seen
		c.byLibrary[metric.CodeKernel] += all - seen
	}
}

// end takes the last samples of a worker; what waits for its map is of code that is not known.
func (w *hostWorker) end(c *codeOfWorkers) {
	for _, thread := range w.threads {
		thread.clock.Drain(func(ip uint64) {
			class, _ := w.code.find(ip)
			thread.count(class, codeOther)
		})
	}
	for _, s := range w.unmappedSample {
		s.thread.count(codeOther, codeOther)
	}
	w.unmappedSample = nil
	c.add(w)
}

// newLibraryMap classifies ranges by the library that they are of.
func newLibraryMap(ranges []procfs.Mapping) codeMap {
	m := codeMap{ranges: ranges, classes: make([]codeClass, len(ranges))}
	for i, r := range ranges {
		name := libraryOf(r.Path)
		if name == "" {
			continue // codeOther
		}
		n := slices.Index(m.names, name)
		if n < 0 && len(m.names) <= maxCodeClass-int(codeLibrary) {
			n, m.names = len(m.names), append(m.names, name)
		}
		if n >= 0 {
			m.classes[i] = codeLibrary + codeClass(n)
		}
	}
	return m
}

var (
	inPackages = regexp.MustCompile(`/(?:site|dist)-packages/([^/.]+)`)
	inSystem   = regexp.MustCompile(`/(?:lib|lib64|lib-dynload|bin)/`)
	plainName  = regexp.MustCompile(`^[A-Za-z0-9_+]{1,32}$`)
)

// libraryOf names the library that a mapped file is of: libjpeg, whatever its version and whoever brought it, PIL for
// what is in a package of Python's, and Python itself. "" for what is none, is not installed, or has an odd name.
func libraryOf(file string) string {
	name, _, _ := strings.Cut(path.Base(file), ".")
	name, _, _ = strings.Cut(name, "-") // wheels put a hash behind the names of what they bring
	packaged := inPackages.FindStringSubmatch(file)
	switch {
	case strings.HasPrefix(name, "python"), strings.HasPrefix(name, "libpython"):
		return metric.CodePython
	case packaged != nil && !strings.HasPrefix(name, "lib"):
		name = packaged[1]
	case packaged == nil && !inSystem.MatchString(file): // a person's own
		return ""
	}
	if !plainName.MatchString(name) || slices.Contains(metric.NoLibrary, name) {
		return ""
	}
	return name
}
