//go:build e2e

package e2e

import (
	"bytes"
	"context"
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
	args    []string
}

var layoutCases = []layoutCase{
	{layout: "gzip_chunk_of_64", planted: []string{"hdf5/chunk-exceeds-cache"}},
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
			_, err := tries.measure(t, func() (try, string, error) {
				r, others := m.bench(t, c.layout, path, c.args...)
				return c.hold(r, others), c.figures(r), nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// figures are what was found, in a line.
func (c layoutCase) figures(r *report.Report) string {
	var said []string
	for _, f := range r.Findings {
		said = append(said, fmt.Sprintf("%s %s (%.2f)", f.Severity, f.Rule, f.Score))
	}
	return fmt.Sprintf("%s; %s", r.Benchmark.Headline, strings.Join(said, ", "))
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
			t.misses = append(t.misses, wrongVerdict("a healthy dataset is blamed: %s %s", f.Severity, f.Rule))
		}
		found = found || slices.Contains(c.planted, f.Rule)
	}
	if len(c.planted) > 0 && !found {
		t.misses = append(t.misses, wrongVerdict("none of %s is among the findings above info", strings.Join(c.planted,
			", ")))
	}
	return t
}

// layout makes a dataset on a disk and returns its path; it is removed at the end of the test.
func (m machine) layout(t *testing.T, name string) string {
	t.Helper()
	dir := must.Get(os.MkdirTemp("/var/tmp", workPrefix))(t)
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	cmd := exec.Command(m.python, "../../testdata/datasets/make_layouts.py", name, dir)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	path, err := cmd.Output()
	if err != nil {
		t.Fatalf("making %s: %v: %s", name, err, complaint.String())
	}
	return strings.TrimSpace(string(path))
}

// bench runs the real command on a dataset. others is how many cores everyone else used meanwhile.
func (m machine) bench(t *testing.T, name, path string, args ...string) (r *report.Report, others float64) {
	t.Helper()
	keep := m.keep
	if keep == "" {
		keep = t.TempDir()
	}
	out := filepath.Join(keep, "bench-"+name+".json")
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	before := listing(t, path)
	cmd := exec.CommandContext(ctx, m.binary, append([]string{"bench-io", path, "--budget", benchBudget, "--seed", "1",
		"--python", m.python, "-q", "-o", out}, args...)...)
	began := readCPU()
	output, err := cmd.CombinedOutput()
	others = began.others(readCPU(), cmd)
	if m.keep != "" {
		_ = os.WriteFile(filepath.Join(keep, "bench-"+name+".txt"), output, 0o644) // for reading only
	}
	if err != nil {
		t.Fatalf("pipetune bench-io: %v: %s", err, output)
	}
	if after := listing(t, path); after != before {
		t.Errorf("the dataset's folder held %d names before and %d after", before, after)
	}
	file := must.Get(os.Open(out))(t)
	defer file.Close()
	if r, err = report.Decode(file); err != nil {
		t.Fatal(err)
	}
	if r.Kind != "bench-io" || r.Benchmark == nil {
		t.Fatalf("a report of kind %q", r.Kind)
	}
	return r, others
}

// listing counts the names in the folder of a path.
func listing(t *testing.T, path string) int {
	t.Helper()
	entries := must.Get(os.ReadDir(filepath.Dir(path)))(t)
	return len(entries)
}

// figure returns the center of a measurement whose labels include all of these; false where there is none.
func figure(r *report.Report, probe, metric string, labels map[string]string) (float64, bool) {
	for _, m := range r.Measurements {
		if m.Probe != probe || m.Metric != metric {
			continue
		}
		match := true
		for k, v := range labels {
			match = match && m.Labels[k] == v
		}
		if match {
			return m.Value.Center, true
		}
	}
	return 0, false
}
