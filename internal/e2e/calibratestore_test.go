//go:build e2e && calibrate

package e2e

import (
	"bufio"
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
	"time"

	"github.com/pipetune/pipetune/internal/evidence"
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

func openResults(folder string) (*results, error) {
	r := &results{folder: folder, runs: map[string]keptRun{}}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(r.file())
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		var m keptRun
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			return nil, fmt.Errorf("%s: %w", r.file(), err)
		}
		r.runs[m.Run] = m
	}
	return r, lines.Err()
}

func (r *results) file() string { return filepath.Join(r.folder, "runs.jsonl") }

// add keeps a run, and its recording where it was watched.
func (r *results) add(m keptRun, recording []byte) error {
	if len(recording) > 0 {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		if _, err := w.Write(recording); err != nil {
			return err
		}
		if err := errors.Join(w.Close(), os.WriteFile(r.recordingOf(m.Run), packed.Bytes(), 0o644)); err != nil {
			return err
		}
	}
	file, err := os.OpenFile(r.file(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(file).Encode(m); err != nil {
		return errors.Join(err, file.Close())
	}
	r.runs[m.Run] = m
	return file.Close()
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

func (r *results) known(from grid, how way) (k known, err error) {
	m, ok := r.runs[from.watched(how)]
	if !ok {
		return k, fmt.Errorf("%s was not measured", from.watched(how))
	}
	file, err := os.Open(r.recordingOf(m.Run))
	if err != nil {
		return k, err
	}
	defer file.Close()
	packed, err := gzip.NewReader(file)
	if err != nil {
		return k, err
	}
	text, err := io.ReadAll(packed)
	if err != nil {
		return k, err
	}
	k.keptRun = m
	if k.evidence, err = evidenceOf(text); err == nil {
		_, k.refusal = foresee(k.evidence, predict.Calibration{}, from.setting())
	}
	return k, err
}

func evidenceOf(text []byte) (*evidence.Evidence, error) {
	rec, err := recording.Read(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	return evidence.FromRecording(rec)
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

// run measures one configuration.
func (r *results) run(by runner, g grid) error {
	began := time.Now()
	a, others, err := quietly(by.group(), func() (answer, error) { return by.run(g) })
	if err != nil {
		return fmt.Errorf("%s: %w", g.name(), err)
	}
	fmt.Printf("  %-56s %8.2f/s %s\n", g.name(), a.rate(), disturbed(others))
	return r.add(a.kept(g.name(), others, time.Since(began)), nil)
}

// watch measures what others are predicted from; once more where a report of it would have no plans.
func (r *results) watch(by runner, from grid, how way) error {
	type watched struct {
		answer
		recording []byte
	}
	began := time.Now()
	var w watched
	var others float64
	for range mostAttempts {
		var err error
		w, others, err = quietly(by.group(), func() (w watched, err error) {
			w.answer, w.recording, err = by.watch(from, how)
			return w, err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", from.watched(how), err)
		}
		e, err := evidenceOf(w.recording)
		if err != nil {
			return fmt.Errorf("%s: %w", from.watched(how), err)
		}
		if _, err := foresee(e, predict.Calibration{}, from.setting()); err == nil {
			break
		}
	}
	fmt.Printf("  %-56s %8.2f/s, to predict from %s\n", from.watched(how), w.rate(), disturbed(others))
	return r.add(w.answer.kept(from.watched(how), others, time.Since(began)), w.recording)
}

// trials predicts each configuration from the runs that were watched. Those that cannot be predicted are reported with
// the reason.
func (r *results) trials(asked []grid) (trials []trial, refused []string, err error) {
	known := map[string]*known{}
	for _, g := range asked {
		for _, how := range g.ways() {
			from := known[g.base().watched(how)]
			if from == nil {
				k, err := r.known(g.base(), how)
				if err != nil {
					return nil, nil, err
				}
				from = &k
				known[k.Run] = from
			}
			if from.refusal != nil {
				refused = append(refused, fmt.Sprintf("%s, %s: %v", g.name(), how, from.refusal))
				continue
			}
			m := r.runs[g.name()]
			x := trial{grid: g, how: how, from: from, observed: m.rate(), others: max(m.Others, from.Others)}
			if x.foreseen, err = x.foresee(predict.Calibration{}); err != nil {
				return nil, nil, fmt.Errorf("%s: %w", g.name(), err)
			}
			trials = append(trials, x)
		}
	}
	return trials, refused, nil
}

// machinesMeasured has a folder for each machine and day whose runs are kept.
const machinesMeasured = "../../testdata/calibration"

// elsewhere are the trials of the machines that are kept, but for those of one folder.
func elsewhere(asked []grid, but string) (all []machineTrials, err error) {
	files, err := filepath.Glob(filepath.Join(machinesMeasured, "*", "runs.jsonl"))
	if err != nil || len(files) == 0 {
		return nil, errors.Join(err, fmt.Errorf("no runs of other machines in %s/*", machinesMeasured))
	}
	for _, file := range files {
		folder := filepath.Dir(file)
		if filepath.Base(folder) == filepath.Base(but) {
			continue
		}
		kept, err := openResults(folder)
		if err != nil {
			return nil, err
		}
		trials, _, err := kept.trials(slices.DeleteFunc(slices.Clone(asked), func(g grid) bool { return !kept.has(g) }))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", folder, err)
		}
		all = append(all, machineTrials{filepath.Base(folder), trials})
	}
	return all, nil
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
