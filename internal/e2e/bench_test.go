//go:build e2e

package e2e

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/pkg/report"
)

// layoutCase is a dataset with a planted layout, and what bench-io must say of it.
type layoutCase struct {
	layout  string   // a function of testdata/datasets/make_layouts.py
	planted []string // one of these rules must be found, as warning or error; empty: a control, nothing above info
}

var layoutCases = []layoutCase{
	{layout: "gzip_chunk_of_512", planted: []string{"hdf5/chunk-exceeds-cache"}},
	{layout: "chunk_across", planted: []string{"hdf5/chunk-mismatch"}},
	{layout: "small_pngs", planted: []string{"image/png-decode", "storage/small-files"}},
	{layout: "one_folder", planted: []string{"storage/crowded-folder", "storage/small-files"}},
	{layout: "file_per_item", planted: []string{"hdf5/reopened-per-item", "storage/small-files"}},
	{layout: "healthy_hdf5"},
}

// benchBudget is what each dataset is measured for. The shares of an item's time that rules judge are known to a few
// points in it.
const benchBudget = "12s"

// TestLayouts makes each dataset with the usual libraries, has bench-io measure it as a user would, and holds the
// findings against what was planted.
func TestLayouts(t *testing.T) {
	m := findMachine(t)
	var tries account
	defer tries.close(t)
	for _, c := range layoutCases {
		t.Run(c.layout, func(t *testing.T) {
			path := m.layout(t, c.layout)
			tries.measure(t, func(t *testing.T) (try, string) {
				r, others := m.bench(t, c.layout, path)
				return c.hold(r, others), fmt.Sprintf("%s; %s", r.Benchmark.Headline, rulesOf(r, len(r.Findings)))
			})
		})
	}
}

// hold holds a benchmark to what was planted.
func (c layoutCase) hold(r *report.Report, others float64) try {
	t := try{others: others}
	found := false
	for _, f := range r.Findings {
		if f.Severity == report.Info {
			continue
		}
		if len(c.planted) == 0 {
			t.wrongVerdict("a healthy dataset is blamed: %s %s", f.Severity, f.Rule)
		}
		found = found || slices.Contains(c.planted, f.Rule)
	}
	if len(c.planted) > 0 && !found {
		t.wrongVerdict("none of %s is among the findings above info", strings.Join(c.planted, ", "))
	}
	return t
}

// layout makes a dataset on a disk and returns its path; it is removed at the end of the test.
func (m machine) layout(t *testing.T, name string) string {
	t.Helper()
	return strings.TrimSpace(string(outputOf(t, m.python, "../../testdata/datasets/make_layouts.py", name,
		workFolder(t, ""))))
}

// outputOf runs a program to its end and returns what it printed.
func outputOf(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		var complaint []byte
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			complaint = exit.Stderr
		}
		t.Fatalf("%s %q: %v: %s", name, args, err, complaint)
	}
	return out
}

// bench runs the real command on a dataset. others is how many cores everyone else used meanwhile.
func (m machine) bench(t *testing.T, name, path string, args ...string) (r *report.Report, others float64) {
	t.Helper()
	out := filepath.Join(cmp.Or(m.keep, t.TempDir()), "bench-"+name+".json")
	before, began := listing(t, path), readCPU()
	cmd, text := m.run(t, nil, append([]string{"bench-io", path, "--budget", benchBudget, "--seed", "1", "--python",
		m.python, "-q", "-o", out}, args...)...)
	others = began.others(readCPU(), cmd)
	m.keepText(t, "bench-"+name+".txt", string(text))
	if after := listing(t, path); after != before {
		t.Errorf("the dataset's folder held %d names before and %d after", before, after)
	}
	if r = must.Read(t, out, report.Decode); r.Kind != "bench-io" || r.Benchmark == nil {
		t.Fatalf("a report of kind %q", r.Kind)
	}
	return r, others
}

// listing counts the names in the folder of a path.
func listing(t *testing.T, path string) int {
	t.Helper()
	return len(must.Get(os.ReadDir(filepath.Dir(path)))(t))
}
