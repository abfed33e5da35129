//go:build e2e && calibrate

package e2e

import (
	"fmt"
	"hash/fnv"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/predict"
	"github.com/pipetune/pipetune/internal/stat"
)

// What predictions promise, over the whole grid.
const (
	maxMedianError  = 0.05
	maxTailError    = 0.15 // nine of ten configurations
	tailShare       = 0.9
	leastCoverage   = 0.80 // of the 90 % intervals
	mostCoverage    = 0.97
	calibratedShare = 0.9
	leastTrials     = 60
)

// What disturbs a run here is less than what disturbs a diagnosis: a few percent count.
const (
	nearlyAlone   = 0.1 // cores that others used
	mostAttempts  = 3
	answerWithin  = 3 * time.Minute
	calibrationBy = "E2E_CALIBRATION" // environment: the page to write the table to, when the whole grid was run
)

// trial is one configuration with what became of it.
type trial struct {
	grid
	from      *known       // the run it is predicted from
	foreseen  foreseen     // with nothing of the model's own error
	told      stat.Summary // its interval with that error, as a report has it
	unseen    stat.Summary // its interval with that error, as the other half of the trials tells it
	observed  float64      // steps per second
	others    float64      // cores that others used, in this run or in the one it is predicted from, the larger
	firstHalf bool
}

// off is the relative error of the prediction.
func (t trial) off() float64 { return t.foreseen.told.Center/t.observed - 1 }

func (t trial) inside() bool { return within(t.told, t.observed) }

func within(s stat.Summary, x float64) bool { return s.Lo <= x && x <= s.Hi }

// TestCalibration predicts the rate of real DataLoaders with settings of every kind, each from one run of the same workload at another
// setting, runs them, and tells how far off the model is. E2E_JOBS='cpu|w=4' runs a part of the grid.
func TestCalibration(t *testing.T) {
	m := findMachine(t)
	wanted := regexp.MustCompile(os.Getenv("E2E_JOBS"))
	var trials []trial
	began := time.Now()
	all, parts := calibrationGrid(), map[string][]grid{}
	asked := 0
	for _, g := range all {
		if wanted.MatchString(g.name()) {
			parts[g.Workload] = append(parts[g.Workload], g)
			asked++
		}
	}
	if asked == 0 {
		t.Fatalf("no configuration matches E2E_JOBS=%s", wanted)
	}
	var versions string
	var refused []string
	for _, w := range workloads {
		if len(parts[w]) == 0 {
			continue
		}
		some, without, err := m.tryOut(t, w, parts[w], &versions)
		if err != nil {
			t.Fatal(err)
		}
		trials, refused = append(trials, some...), append(refused, without...)
		fmt.Printf("%d of %d configurations, %.0f s\n", len(trials)+len(refused), asked, time.Since(began).Seconds())
	}
	c, err := judgeTrials(trials)
	if err != nil {
		t.Fatal(err)
	}
	c.refused = refused
	c.machine, c.versions, c.seconds = describeMachine(), versions, time.Since(began).Seconds()
	text := c.text()
	fmt.Print(text)
	if page := os.Getenv(calibrationBy); page != "" && asked == len(all) {
		if err := writeBetweenMarkers(page, "make calibrate", text); err != nil {
			t.Error(err)
		}
	}
	if asked < len(all) {
		return // a part of the grid says nothing about the promises
	}
	for _, failure := range c.failures() {
		t.Error(failure)
	}
}

// tryOut runs the configurations of one workload and what they are predicted from. Those that cannot be predicted are told with the reason.
func (m machine) tryOut(t *testing.T, workload string, part []grid, versions *string) (trials []trial, refused []string, err error) {
	j, err := m.startCalibration()
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if stopErr := j.stop(); stopErr != nil {
			t.Error(stopErr)
		}
	}()
	bases := map[grid]*known{}
	disturbance := map[grid]float64{}
	for _, g := range part {
		from := g.base()
		if bases[from] == nil {
			k, others, err := m.known(t, j, from)
			if err != nil {
				return nil, nil, err
			}
			bases[from], disturbance[from] = &k, others
			*versions = fmt.Sprintf("PyTorch %s, Python %s", k.Torch, k.Python)
			fmt.Printf("  %-46s %8.2f/s, to predict from %s\n", from.name(), k.rate(), disturbed(others))
		}
		if why := bases[from].refusal; why != nil {
			refused = append(refused, fmt.Sprintf("%s: %v", g.name(), why))
			fmt.Printf("  %s\n", refused[len(refused)-1])
			continue
		}
		a, others, err := quietly(j.cmd.Process.Pid, func() (answer, error) { return j.run(g) })
		if err != nil {
			return nil, nil, err
		}
		x := trial{grid: g, from: bases[from], observed: a.rate(), others: max(others, disturbance[from])}
		if x.foreseen, err = x.foresee(predict.Calibration{}); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", g.name(), err)
		}
		trials = append(trials, x)
		fmt.Printf("  %-46s %8.2f/s, predicted %8.2f/s %+6.1f %% %s\n", g.name(), x.observed, x.foreseen.told.Center, 100*x.off(), disturbed(others))
	}
	return trials, refused, nil
}

// known runs what others are predicted from; once more where a report of it would have no plans.
func (m machine) known(t *testing.T, j *calibrationJob, from grid) (k known, others float64, err error) {
	for range mostAttempts {
		if k, others, err = quietly(j.cmd.Process.Pid, func() (known, error) { return m.launchKnown(t, from) }); err != nil {
			return k, others, fmt.Errorf("%s: %w", from.name(), err)
		}
		if k.refusal == nil {
			break
		}
	}
	return k, others, nil
}

// foreseen is what plans would say of a setting, in steps per second.
type foreseen struct {
	predict.Forecast
	told stat.Summary // what a report shows, which leans on the rate that was seen as well as on the model
}

// foresee says what a report of the run it is predicted from says of it, if the model were as far off as c says.
func (t trial) foresee(c predict.Calibration) (foreseen, error) {
	return foresee(t.from.evidence, c, t.setting())
}

// foresee fails where the report would have no plans.
func foresee(e *evidence.Evidence, c predict.Calibration, set predict.Setting) (foreseen, error) {
	l, why := diagnose.PlannedLoader(e, c)
	if why != nil {
		return foreseen{}, fmt.Errorf("there is no model of the loader: %s", why.Reason)
	}
	to, effect, ok := l.Predict(set, predict.Remedy{})
	if !ok {
		return foreseen{}, fmt.Errorf("%+v cannot be simulated", set)
	}
	perStep := l.PerBatch
	return foreseen{to, stat.Summary{Center: effect.After / perStep, Lo: effect.Lo / perStep, Hi: effect.Hi / perStep, N: to.StepsPerS.N}}, nil
}

func disturbed(others float64) string {
	if others <= nearlyAlone {
		return ""
	}
	return fmt.Sprintf("(others used %.2f cores)", others)
}

// halves splits trials into two by a fixed hash of their names, as evenly as their number allows.
func halves(trials []trial) {
	key := func(i int) uint64 {
		h := fnv.New64a()
		h.Write([]byte(trials[i].name()))
		return h.Sum64()
	}
	order := make([]int, len(trials))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		if x, y := key(a), key(b); x != y {
			if x < y {
				return -1
			}
			return 1
		}
		return strings.Compare(trials[a].name(), trials[b].name())
	})
	for place, i := range order {
		trials[i].firstHalf = place < (len(order)+1)/2
	}
}

// describeMachine is the machine in words.
func describeMachine() string {
	model := "unknown processor"
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if found := regexp.MustCompile(`(?m)^model name\s*:\s*(.+)$`).FindSubmatch(text); found != nil {
			model = string(found[1])
		}
	}
	release := ""
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		release = ", Linux " + strings.TrimSpace(string(text))
	}
	return fmt.Sprintf("%d CPUs (%s)%s", runtime.NumCPU(), model, release)
}
