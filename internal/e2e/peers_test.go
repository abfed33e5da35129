//go:build e2e && peers

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/pkg/report"
)

// The targets against the best tool of each kind, as ratios in one run.
const (
	leastOfFio  = 0.98
	leastOfH5py = 0.98
	leastOfJPEG = 0.98
	mostOfFind  = 1.0
	mostWalkRSS = 60 << 20
	walkedFiles = 200_000
	peerRounds  = 5
	peerBudget  = "8s"

	fewPhotographs = 4 // of 400, over the whole of them
)

// duel is one line of the table: ours against a peer's, in the same unit.
type duel struct {
	what, peer string
	ours       float64
	theirs     float64
	ratio      float64 // of the two; the median of those of each turn
	unit       string
	bound      string // "" where none is promised
	ok         bool
}

// TestPeers measures the same files with bench-io and with the best tool of each kind, in turn, and prints medians and
// ratios.
func TestPeers(t *testing.T) {
	m := findMachine(t)
	for _, tool := range []string{"fio", "tjbench", "find"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("%v: apt-get install -y fio libjpeg-turbo-progs findutils", err)
		}
	}
	var duels []duel
	for _, peer := range []struct {
		name string
		duel func(*testing.T) []duel
	}{{"fio", m.againstFio}, {"h5py", m.againstH5py}, {"jpeg", m.againstJPEG}, {"find", m.againstFind}} {
		t.Run(peer.name, func(t *testing.T) { duels = append(duels, peer.duel(t)...) })
	}
	fmt.Printf("\n%-46s %-22s %12s %12s  %-6s %7s  %s\n", "what", "peer", "ours", "theirs", "unit", "ratio", "promise")
	for _, d := range duels {
		verdict := "none"
		if d.bound != "" {
			verdict = d.bound + " kept"
			if !d.ok {
				verdict = d.bound + " MISSED"
				t.Errorf("%s against %s: %.4g against %.4g %s, a ratio of %.3f, promised %s", d.what, d.peer, d.ours,
					d.theirs, d.unit, d.ratio, d.bound)
			}
		}
		fmt.Printf("%-46s %-22s %12.4g %12.4g  %-6s %7.3f  %s\n", d.what, d.peer, d.ours, d.theirs, d.unit, d.ratio,
			verdict)
	}
}

// atLeast promises the median of the ratios of each turn: what else the machine does changes from turn to turn.
func atLeast(what, peer, unit string, ours, theirs []float64, least float64) duel {
	d := duel{what: what, peer: peer, unit: unit, ours: median(ours), theirs: median(theirs)}
	var ratios []float64
	for i := range ours {
		ratios = append(ratios, ours[i]/theirs[i])
	}
	if d.ratio = median(ratios); least > 0 {
		d.bound, d.ok = fmt.Sprintf("at least %.2f", least), d.ratio >= least
	}
	return d
}

// fio runs one job of random or sequential reads and returns its requests per second.
func fio(t *testing.T, path string, args ...string) float64 {
	t.Helper()
	out := outputOf(t, "fio", append([]string{"--name=x", "--filename=" + path, "--readonly", "--time_based",
		"--runtime=4", "--output-format=json", "--randrepeat=0", "--norandommap"}, args...)...)
	var answer struct {
		Jobs []struct {
			Read struct {
				IOPS float64 `json:"iops"`
			} `json:"read"`
		} `json:"jobs"`
	}
	if i := bytes.IndexByte(out, '{'); i < 0 {
		t.Fatalf("fio said %s", out)
	} else if err := json.Unmarshal(out[i:], &answer); err != nil || len(answer.Jobs) != 1 {
		t.Fatalf("fio: %v: %s", err, out)
	}
	return answer.Jobs[0].Read.IOPS
}

// againstFio compares random reads of raw bytes from the page cache, one at a time. Direct reads, at each depth, are
// held to fio's by the peers test of package probe: bench-io stops at the depth that brings nothing more.
func (m machine) againstFio(t *testing.T) []duel {
	path := m.layout(t, "raw")
	var ours, theirs []float64
	for range peerRounds {
		r, _ := m.bench(t, "peers-raw", path, "--block-bytes", "131072", "--python", "none", "--workers", "1",
			"--no-cold", "--budget", peerBudget)
		ours = append(ours, figure(t, r, report.ProbeRead, "items_per_s", report.LabelCache, "warm", report.LabelOrder,
			"random"))
		theirs = append(theirs, fio(t, path, "--rw=randread", "--bs=128k", "--ioengine=psync", "--invalidate=0"))
	}
	return []duel{atLeast("128 KiB random reads, page cache, one process", "fio psync", "1/s", ours, theirs,
		leastOfFio)}
}

// readH5py prints items per second of h5py, one handle kept, in random order; the best library a Python job has.
const readH5py = `
import sys, time, h5py, numpy as np
f = h5py.File(sys.argv[1], "r"); d = f["images"]; order = np.random.default_rng(1).permutation(len(d))[:int(sys.argv[2])]
for i in order: d[i]
n, start = 0, time.perf_counter()
while time.perf_counter() - start < 4:
    for i in order:
        d[i]
    n += len(order)
print(n / (time.perf_counter() - start))
`

func (m machine) againstH5py(t *testing.T) (duels []duel) {
	for _, layout := range []struct{ name, items string }{{"healthy_hdf5", "4096"}, {"chunk_item_gzip", "2048"},
		{"gzip_chunk_of_64", "64"}} {
		path := m.layout(t, layout.name)
		var ours, theirs []float64
		for range peerRounds {
			r, _ := m.bench(t, "peers-"+layout.name, path, "--python", "none", "--workers", "1", "--no-cold",
				"--budget", peerBudget)
			ours = append(ours, figure(t, r, report.ProbeRead, "items_per_s", report.LabelCache, "warm",
				report.LabelOrder, "random"))
			out := strings.TrimSpace(string(outputOf(t, m.python, "-c", readH5py, path, layout.items)))
			theirs = append(theirs, must.Get(strconv.ParseFloat(out, 64))(t))
		}
		duels = append(duels, atLeast("HDF5 items, "+strings.ReplaceAll(layout.name, "_", " "), "h5py", "1/s", ours,
			theirs, leastOfH5py))
	}
	return duels
}

var tjbenchRate = regexp.MustCompile(`(?m)Decompress.*?([0-9.]+) Megapixels/sec|Throughput: *([0-9.]+) Megapixels/sec`)

// againstJPEG compares decoding of photographs in memory: the same few for all, because tjbench decodes one file again
// and again, which the processor's caches then hold.
func (m machine) againstJPEG(t *testing.T) (duels []duel) {
	all, err := filepath.Glob(filepath.Join(m.layout(t, "photographs"), "*.jpg"))
	if err != nil || len(all) < fewPhotographs {
		t.Fatalf("%d photographs: %v", len(all), err)
	}
	dir := t.TempDir()
	var files []string
	for i := range fewPhotographs {
		content := must.Get(os.ReadFile(all[i*len(all)/fewPhotographs]))(t)
		files = append(files, filepath.Join(dir, filepath.Base(all[i*len(all)/fewPhotographs])))
		must.Do(t, os.WriteFile(files[i], content, 0o644))
	}
	var ours, theirs, pillow []float64
	for range peerRounds {
		r, _ := m.bench(t, "peers-jpeg", dir, "--workers", "1", "--no-cold", "--budget", peerBudget)
		ours = append(ours, 1/figure(t, r, report.ProbeDecode, "decode_time_s", report.LabelDecoder, "libjpeg-turbo"))
		pillow = append(pillow, 1/figure(t, r, report.ProbePython, "decode_time_s", report.LabelDecoder, "pillow"))
		sum := 0.0
		for _, file := range files {
			sum += tjbench(t, file)
		}
		theirs = append(theirs, float64(len(files))/sum)
	}
	return []duel{
		atLeast("JPEG 500x375 from memory", "tjbench", "1/s", ours, theirs, leastOfJPEG),
		atLeast("JPEG 500x375 from memory", "Pillow", "1/s", ours, pillow, 0),
	}
}

// tjbench returns the seconds that decoding a photograph of 500 by 375 takes.
func tjbench(t *testing.T, file string) float64 {
	t.Helper()
	out := output(t, exec.Command("tjbench", file, "-nowrite", "-benchtime", "1", "-warmup", "0.3"))
	found := tjbenchRate.FindAllStringSubmatch(string(out), -1)
	if len(found) == 0 {
		t.Fatalf("tjbench printed no rate: %s", out)
	}
	last := found[len(found)-1]
	x := must.Get(strconv.ParseFloat(last[1]+last[2], 64))(t)
	return 500 * 375 / (x * 1e6)
}

// againstFind compares the walk of a tree: --list surveys the dataset and measures nothing.
func (m machine) againstFind(t *testing.T) []duel {
	dir := workFolder(t, "")
	const folders = 200
	for d := range folders {
		folder := filepath.Join(dir, fmt.Sprintf("class_%03d", d))
		must.Do(t, os.Mkdir(folder, 0o755))
		for i := range walkedFiles / folders {
			must.Do(t, os.WriteFile(filepath.Join(folder, fmt.Sprintf("%06d.bin", i)), []byte("x"), 0o644))
		}
	}
	var ours, theirs []float64
	peak := int64(0)
	for range peerRounds {
		start := time.Now()
		cmd, _ := m.run(t, nil, "bench-io", dir, "--list", "--python", "none")
		ours = append(ours, time.Since(start).Seconds())
		// The kernel's figure for a waited process is the largest of it and its waited children.
		peak = max(peak, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss<<10)
		start = time.Now()
		listed := outputOf(t, "find", dir, "-type", "f", "-printf", "%s\n")
		if n := bytes.Count(listed, []byte("\n")); n != walkedFiles {
			t.Fatalf("find counts %d files of %d", n, walkedFiles)
		}
		theirs = append(theirs, time.Since(start).Seconds())
	}
	walk := duel{what: fmt.Sprintf("walk of %d files, start and end of the program", walkedFiles),
		peer: "find -printf %s", unit: "s", ours: median(ours), theirs: median(theirs),
		bound: fmt.Sprintf("at most %.1f", mostOfFind)}
	walk.ratio = walk.ours / walk.theirs
	walk.ok = walk.ratio <= mostOfFind
	memory := duel{what: "memory of that walk, largest process", peer: "60 MB", unit: "MB", ours: float64(peak) / 1e6,
		theirs: mostWalkRSS / 1e6, ratio: float64(peak) / mostWalkRSS, bound: "at most 1", ok: peak <= mostWalkRSS}
	return []duel{walk, memory}
}
