//go:build reliability

package reliability

import (
	"bufio"
	"debug/elf"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/nvml"
)

var gpuTrials = []trial{
	gpuTrial("F12-hang", "NVML does not come back",
		"a library that hangs in nvmlInit_v2, in the first nvmlDeviceGetPowerUsage and in the 100th "+
			"nvmlDeviceGetSamples",
		driver{name: "init", config: "hang nvmlInit_v2 1", said: "no answer within"},
		driver{name: "first", config: "hang nvmlDeviceGetPowerUsage 1", said: "no answer within"},
		driver{name: "100th", config: "hang nvmlDeviceGetSamples 100", said: "no answer within"}),
	gpuTrial("F12-death", "NVML ends its process",
		"a library that calls abort() in nvmlInit_v2 and in the 10th nvmlDeviceGetMemoryInfo_v2, or writes to "+
			"address 1",
		driver{name: "abort in init", config: "abort nvmlInit_v2 1", said: "SIGABRT"},
		driver{name: "abort later", config: "abort nvmlDeviceGetMemoryInfo_v2 10", said: "SIGABRT"},
		driver{name: "segv", config: "segv nvmlDeviceGetCurrPcieLinkGeneration 3", said: "SIGSEGV"}),
	gpuTrial("F12-lost", "a GPU falls off the bus, or is lost from the start",
		"NVML_ERROR_GPU_IS_LOST from one of two GPUs after 10 readings, and for every handle",
		driver{name: "lost", config: "lost 0 10", works: true},
		driver{name: "never there", config: "fail nvmlDeviceGetHandleByIndex_v2 15", works: true}),
	libraryTrial,
}

func gpuTrial(id, fault, made string, list ...driver) trial {
	return trial{id: id, fault: fault, made: made, target: gpuTarget, run: func(s *stand) { s.gpuWatches(list) }}
}

const gpuTarget = "the GPU section abstains within 5 s, with the reason; the helper is started at most 4 times and " +
	"stays below 64 MiB; all else is measured as without a driver; exit 0"

// driver is a library that behaves like NVML, or misbehaves.
type driver struct {
	name   string
	none   bool   // there is none
	folder string // where it lies; "" for testdata/fakenvml, which is built
	config string // of testdata/fakenvml
	said   string // what the recording says of it
	works  bool   // it can be used nevertheless
}

// build makes the library and returns its folder.
func (d driver) build(s *stand) string {
	if d.folder != "" {
		return d.folder
	}
	dir := s.folder("driver")
	if d.none {
		return dir
	}
	s.library(filepath.Join(dir, "libnvidia-ml.so.1"), fakeNVML(s))
	s.write(filepath.Join(dir, "fakenvml.conf"), d.config+"\n")
	return dir
}

// fakeNVML is the source of a library that behaves like NVML.
func fakeNVML(s *stand) string {
	return string(must.Get(os.ReadFile(s.testdata("fakenvml/fakenvml.c")))(s))
}

// nvmlFunctions are those of it, which are the ones that pipetune calls.
func nvmlFunctions(s *stand) (names []string) {
	for _, found := range regexp.MustCompile(`(?m)^#ifndef NO_(\w+)$`).FindAllStringSubmatch(fakeNVML(s), -1) {
		names = append(names, found[1])
	}
	return names
}

// atATime is how many watches run beside each other: they are no load, but each starts a process.
const atATime = 6

// gpuWatches runs a watch with each driver beside one job, and one without a driver to compare with, which is held to
// the same.
func (s *stand) gpuWatches(list []driver) {
	s.Helper()
	// A trainer without workers yet is watched for what else may feed it, and the watch to compare with has that too.
	c := steady{batches: 20000, step: 10 * time.Millisecond, workers: 2}.start(s)
	list = append([]driver{{name: "compared", none: true, said: "libnvidia-ml"}}, list...)
	var usual gpuRun
	again := 0
	starts, slowest, peak := 0, 0.0, 0.0
	for group := range slices.Chunk(list, atATime) {
		var runs []*gpuRun
		for _, d := range group {
			runs = append(runs, d.watch(s, c))
		}
		for _, r := range runs {
			r.end(s)
			if r.driver.name == "compared" {
				usual = *r
			}
			starts, slowest, peak = max(starts, r.starts), max(slowest, r.silent), max(peak, r.peak)
			r.judge(s)
			missing := r.lacks(usual)
			notLate := func(name string) bool { return !slices.Contains(lateSignals, name) }
			if len(missing) > 0 && !slices.ContainsFunc(missing, notLate) {
				again++
				s.Logf("%s: no %s; a second watch", r.driver.name, strings.Join(missing, ", "))
				r = r.driver.watch(s, c)
				r.end(s)
				r.judge(s)
				missing = r.lacks(usual)
			}
			if len(missing) > 0 {
				s.Errorf("%s: %s is missing, which a watch without a driver has", r.driver.name,
					strings.Join(missing, ", "))
			}
		}
	}
	s.atMost(slowest, 5, "the GPU section abstained %.1f s after its last reading")
	s.atMost(float64(again), 2, "%.0f drivers needed a second watch")
	s.measured("%d drivers, %d watched twice; abstained after at most %.1f s; at most %d starts of the helper, "+
		"%.0f MiB", len(list)-1, again, slowest, starts, peak)
}

// gpuRun is one watch and what was seen of it.
type gpuRun struct {
	driver driver
	p      *command
	f      *family
	file   string

	starts  int             // of the helper
	peak    float64         // MiB, of the helper
	silent  float64         // seconds from the last GPU reading, or the beginning, to what was said; 0 when nothing was
	reasons []string        // what was said of signals that could not be seen
	signals map[string]bool // other than the GPU's
	gpu     int             // readings of GPU signals
	ends    string
}

func (d driver) watch(s *stand, job *command) *gpuRun {
	s.Helper()
	file := s.in(strings.ReplaceAll(d.name, " ", "-") + ".jsonl")
	duration := "6s"
	if strings.Contains(d.config, " 100") {
		duration = "25s"
	}
	folder := d.build(s)
	p := s.pipetune(watchOf(job, duration, "-q", "-o", file), func(cmd *exec.Cmd) {
		cmd.Env = append(cmd.Env, "LD_LIBRARY_PATH="+folder)
	})
	return &gpuRun{driver: d, p: p, f: p.follow(), file: file, signals: map[string]bool{}}
}

func (r *gpuRun) end(s *stand) {
	s.Helper()
	r.p.ends(3*time.Minute, 0)
	r.f.stop()
	r.starts, r.peak = len(r.f.of(nvml.Task)), r.f.peakMiB(nvml.Task)
	r.read(s)
}

// read goes through the recording.
func (r *gpuRun) read(s *stand) {
	s.Helper()
	text := must.Get(os.Open(r.file))(s)
	defer text.Close()
	names := map[float64]string{}
	now, last := 0.0, 0.0
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var line struct {
			T      float64     `json:"t"`
			V      [][]float64 `json:"v"`
			Series []any       `json:"series"` // number, name and entity
			Unseen *struct{ Signal, Reason string }
			End    *struct{ Reason string }
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			s.Fatalf("%s: %v in %.200s", r.driver.name, err, lines.Text())
		}
		switch {
		case len(line.Series) > 1:
			name := line.Series[1].(string)
			names[line.Series[0].(float64)] = name
			if !strings.HasPrefix(name, "gpu_") {
				r.signals[name] = true
			}
		case line.Unseen != nil:
			if strings.HasPrefix(line.Unseen.Signal, "gpu_") {
				r.reasons = append(r.reasons, line.Unseen.Reason)
				if line.Unseen.Signal == "gpu_*" && r.silent == 0 {
					r.silent = now - last
				}
			}
		case line.End != nil:
			r.ends = line.End.Reason
		case line.T > 0:
			now = line.T
			for _, v := range line.V {
				if strings.HasPrefix(names[v[0]], "gpu_") {
					r.gpu++
					last = now
				}
			}
		}
	}
	must.Do(s, lines.Err())
}

// lacks names the signals that another watch has and this one has not.
func (r *gpuRun) lacks(usual gpuRun) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(usual.signals)), func(name string) bool { return r.signals[name] })
}

func (r *gpuRun) judge(s *stand) {
	s.Helper()
	d := r.driver
	if r.starts > 1+isolate.MaxRestarts {
		s.Errorf("%s: the helper was started %d times", d.name, r.starts)
	}
	if r.peak > 64 {
		s.Errorf("%s: the helper had %.0f MiB", d.name, r.peak)
	}
	if r.ends != "duration" {
		s.Errorf("%s: the watch ended by %q", d.name, r.ends)
	}
	if d.said != "" && !strings.Contains(strings.Join(r.reasons, "\n"), d.said) {
		s.Errorf("%s: no %q in %q", d.name, d.said, r.reasons)
	}
	if d.works && r.gpu == 0 && len(r.reasons) == 0 {
		s.Errorf("%s: no reading and no reason", d.name)
	}
	s.Logf("%s: %d starts, %.0f MiB, %d GPU readings, %.1f s, %s", d.name, r.starts, r.peak, r.gpu, r.silent,
		fmt.Sprintf("%.100q", r.reasons))
}

// libraryTrial holds the confinement of the child, and the names of all functions that pipetune calls, to NVIDIA's
// own library.
var libraryTrial = trial{
	id: "F12-library", fault: "NVIDIA's library is installed and no driver is loaded",
	made:   "libnvidia-ml.so.1 595.99.02 of Ubuntu's and 555.58.02 of Debian's package, unpacked (scripts/nvml)",
	target: gpuTarget + "; the library has each function that is called",
	run: func(s *stand) {
		folder := must.Get(filepath.Abs("../../build/nvml"))(s)
		if out, err := exec.Command("../../scripts/nvml", folder).CombinedOutput(); err != nil {
			s.Fatalf("fetching NVIDIA's library: %v\n%s", err, out)
		}
		found, err := filepath.Glob(filepath.Join(folder, "*", "libnvidia-ml.so.1"))
		if err != nil || len(found) == 0 {
			s.Fatalf("scripts/nvml left no library in %s (%v)", folder, err)
		}
		var list []driver
		for _, library := range found {
			version := filepath.Base(filepath.Dir(library))
			if missing := missingFunctions(s, library); len(missing) > 0 {
				s.missed("the library of %s has no %s", version, strings.Join(missing, ", "))
			}
			list = append(list, driver{name: version, folder: filepath.Dir(library), said: "NVML does not start"})
		}
		s.gpuWatches(list)
	},
}

// missingFunctions lists the functions that pipetune calls and a library does not export.
func missingFunctions(s *stand, library string) []string {
	s.Helper()
	file := must.Get(elf.Open(library))(s)
	defer file.Close()
	symbols := must.Get(file.DynamicSymbols())(s)
	return slices.DeleteFunc(nvmlFunctions(s), func(name string) bool {
		return slices.ContainsFunc(symbols, func(symbol elf.Symbol) bool {
			return symbol.Name == name && symbol.Section != elf.SHN_UNDEF
		})
	})
}
