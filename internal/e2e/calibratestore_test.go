//go:build e2e && calibrate

package e2e

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/predict"
	"github.com/pipetune/pipetune/internal/recording"
)

// calibrationResults is the environment variable that names the folder in which what was measured is kept. What is
// there already is not measured again, so that an interrupted calibration goes on, and a complete one is judged anew.
const calibrationResults = "E2E_RESULTS"

// results are the runs that were measured: a line of runs.jsonl each, and beside it the recordings of those watched.
type results struct {
	folder string
	runs   map[string]keptRun
}

// keptRun is what came of one run.
type keptRun struct {
	Run     string  `json:"run"`
	Steps   float64 `json:"steps"` // of the slowest rank
	Seconds float64 `json:"seconds"`
	Others  float64 `json:"others_cores"` // that other programs used meanwhile
	Took    float64 `json:"took_s"`       // with starting and settling, and all attempts
	Torch   string  `json:"torch"`
	Python  string  `json:"python"`
}

func (r keptRun) rate() float64 { return r.Steps / r.Seconds }

func openResults(t *testing.T, folder string) *results {
	t.Helper()
	r := &results{folder: folder, runs: map[string]keptRun{}}
	must.Do(t, os.MkdirAll(folder, 0o755))
	text, err := os.ReadFile(r.file())
	if errors.Is(err, fs.ErrNotExist) {
		return r
	}
	must.Do(t, err)
	for line := range bytes.Lines(text) {
		var m keptRun
		must.Do(t, json.Unmarshal(line, &m))
		r.runs[m.Run] = m
	}
	return r
}

func (r *results) file() string { return filepath.Join(r.folder, "runs.jsonl") }

// add keeps a run, and its recording where it was watched.
func (r *results) add(t *testing.T, m keptRun, recording []byte) {
	t.Helper()
	if len(recording) > 0 {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		must.Get(w.Write(recording))(t)
		must.Do(t, w.Close())
		must.Do(t, os.WriteFile(r.recordingOf(m.Run), packed.Bytes(), 0o644))
	}
	file := must.Get(os.OpenFile(r.file(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644))(t)
	must.Do(t, errors.Join(json.NewEncoder(file).Encode(m), file.Close()))
	r.runs[m.Run] = m
}

func (r *results) recordingOf(run string) string {
	return filepath.Join(r.folder, strings.ReplaceAll(run, " ", "_")+".jsonl.gz")
}

// known is a run that was watched, and what others are predicted from.
type known struct {
	keptRun
	evidence *evidence.Evidence
	refusal  error // why a report of it would have no plans; nil where it would
}

func (r *results) known(t *testing.T, from grid, how way) *known {
	t.Helper()
	m, ok := r.runs[from.watched(how)]
	if !ok {
		t.Fatalf("%s was not measured", from.watched(how))
	}
	k := known{keptRun: m, evidence: evidenceOf(t, must.Read(t, r.recordingOf(m.Run), must.Unzipped(io.ReadAll)))}
	_, k.refusal = foresee(k.evidence, predict.Calibration{}, from.setting())
	return &k
}

func evidenceOf(t *testing.T, text []byte) *evidence.Evidence {
	t.Helper()
	return must.Get(evidence.FromRecording(must.Get(recording.Read(bytes.NewReader(text)))(t)))(t)
}

// has reports whether a configuration and all that it is predicted from were measured.
func (r *results) has(g grid) bool {
	_, ok := r.runs[g.name()]
	for _, how := range g.ways() {
		_, watched := r.runs[g.base().watched(how)]
		ok = ok && watched
	}
	return ok
}

// measure runs one configuration; one that others are predicted from once more where a report of it would have no
// plans.
func (r *results) measure(t *testing.T, by runner, g grid, how way) {
	t.Helper()
	type run struct {
		answer
		recording []byte
	}
	began := time.Now()
	var one run
	var others float64
	for range mostAttempts {
		one, others = quietly(by.group(), func() (one run) {
			one.answer, one.recording = by.run(t, g, how)
			return one
		})
		if how == unwatched {
			break
		}
		if _, err := foresee(evidenceOf(t, one.recording), predict.Calibration{}, g.setting()); err == nil {
			break
		}
	}
	fmt.Printf("  %-56s %8.2f/s %s\n", g.watched(how), one.rate(), disturbed(others))
	r.add(t, one.kept(g.watched(how), others, time.Since(began)), one.recording)
}

// trials predicts each configuration from the runs that were watched. Those that cannot be predicted are reported with
// the reason.
func (r *results) trials(t *testing.T, asked []grid) (trials []trial, refused []string) {
	t.Helper()
	known := map[string]*known{}
	for _, g := range asked {
		for _, how := range g.ways() {
			from := known[g.base().watched(how)]
			if from == nil {
				from = r.known(t, g.base(), how)
				known[from.Run] = from
			}
			if from.refusal != nil {
				refused = append(refused, fmt.Sprintf("%s, %s: %v", g.name(), how, from.refusal))
				continue
			}
			m := r.runs[g.name()]
			x := trial{grid: g, how: how, from: from, observed: m.rate(), others: max(m.Others, from.Others)}
			x.foreseen = must.Get(x.foresee(predict.Calibration{}))(t)
			trials = append(trials, x)
		}
	}
	return trials, refused
}

// machinesMeasured has a folder for each machine and day whose runs are kept.
const machinesMeasured = "../../testdata/calibration"

// elsewhere are the trials of the machines that are kept, but for those of one folder.
func elsewhere(t *testing.T, asked []grid, but string) (all []machineTrials) {
	t.Helper()
	files := must.Get(filepath.Glob(filepath.Join(machinesMeasured, "*", "runs.jsonl")))(t)
	if len(files) == 0 {
		t.Fatalf("no runs of other machines in %s/*", machinesMeasured)
	}
	for _, file := range files {
		folder := filepath.Dir(file)
		if filepath.Base(folder) == filepath.Base(but) {
			continue
		}
		kept := openResults(t, folder)
		there := slices.DeleteFunc(slices.Clone(asked), func(g grid) bool { return !kept.has(g) })
		trials, _ := kept.trials(t, there)
		all = append(all, machineTrials{filepath.Base(folder), trials})
	}
	return all
}

// versions are those of any run: one machine measures them all.
func (r *results) versions() string {
	for _, m := range r.runs {
		return fmt.Sprintf("PyTorch %s, Python %s", m.Torch, m.Python)
	}
	return ""
}

// seconds is how long all of it took to measure.
func (r *results) seconds() (sum float64) {
	for _, m := range r.runs {
		sum += m.Took
	}
	return sum
}
