package dataset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/must"
)

// treeFiles is the size of the tree that a survey is held against find(1) on; it may take 1.5 times as long and 60 MB.
const treeFiles = 200_000

// surveyPath asks this program, run as a process of its own, to survey a path and say what it took.
const surveyPath = "PIPETUNE_TEST_SURVEY"

// spent is what such a process says.
type spent struct {
	Files, PeakKiB int64
	Walk, All      time.Duration // for the walk alone, with the sizes of all files, and for the whole survey
	Sizes          time.Duration
}

// TestSurveySaysWhatItTook is the body of that process; without a path it surveys the folder of the fixtures.
func TestSurveySaysWhatItTook(t *testing.T) {
	root := os.Getenv(surveyPath)
	if root == "" {
		root = fixtures
	}
	var out spent
	for _, sizes := range []bool{true, false} {
		f := must.Get(os.Open(root))(t)
		count := newCensus(SurveyOptions{}.withDefaults(), len(root)+1)
		w := walk{root: root + "/", stop: func() bool { return false }, file: count.add}
		if sizes {
			w.file = func(folder, name []byte) {
				count.add(folder, name)
				if _, err := size(filepath.Join(root, string(folder)+string(name))); err != nil {
					t.Error(err)
				}
			}
		}
		began := time.Now()
		must.Do(t, w.run(int(f.Fd())))
		if out.Walk = time.Since(began); sizes {
			out.Sizes = out.Walk
		}
		f.Close()
	}
	began := time.Now()
	got := must.Get(Survey(root, SurveyOptions{}))(t)
	out.All, out.Files = time.Since(began), got.Files
	status := must.Get(os.ReadFile("/proc/self/status"))(t)
	if _, after, ok := strings.Cut(string(status), "VmHWM:"); ok {
		out.PeakKiB, _ = strconv.ParseInt(strings.Fields(after)[0], 10, 64)
	}
	if out.Files < 1 || out.PeakKiB < 1 {
		t.Errorf("%+v", out)
	}
	line := must.Get(json.Marshal(out))(t)
	fmt.Printf("spent %s\n", line)
}

// BenchmarkSurveyTree runs find and a survey of the same tree by turns, from a warm cache, and reports the medians: of
// find -type f, of the walk, of the walk with every file's size, of the whole survey with its 2048 sizes and 256 heads,
// and the peak of the process's memory.
//
//	go test -run xxx -bench SurveyTree -benchtime 11x ./internal/dataset
func BenchmarkSurveyTree(b *testing.B) {
	root := b.TempDir()
	for class := range treeFiles / 200 {
		dir := filepath.Join(root, fmt.Sprintf("class_%05d", class))
		must.Do(b, os.Mkdir(dir, 0o700))
		for i := range 200 {
			must.Do(b, os.WriteFile(filepath.Join(dir, fmt.Sprintf("ILSVRC2012_train_%08d.JPEG", class*200+i)),
				[]byte("\xff\xd8\xff"), 0o600))
		}
	}
	var finds, walks, sizes, surveys, peaks []float64
	for range b.N {
		began := time.Now()
		listed, err := exec.Command("find", root, "-type", "f").Output()
		if err != nil || bytes.Count(listed, []byte("\n")) != treeFiles {
			b.Fatalf("find saw %d files, %v", bytes.Count(listed, []byte("\n")), err)
		}
		finds = append(finds, time.Since(began).Seconds())
		child := exec.Command("/proc/self/exe", "-test.run=^TestSurveySaysWhatItTook$")
		// as package isolate starts it
		child.Env = append(os.Environ(), surveyPath+"="+root, "GOMAXPROCS=1", "GOGC=50", "MALLOC_ARENA_MAX=1")
		out, err := child.Output()
		if err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		_, line, _ := strings.Cut(string(out), "spent ")
		line, _, _ = strings.Cut(line, "\n")
		var s spent
		if err := json.Unmarshal([]byte(line), &s); err != nil || s.Files != treeFiles {
			b.Fatalf("%v: %s", err, out)
		}
		walks, sizes, surveys, peaks = append(walks, s.Walk.Seconds()), append(sizes, s.Sizes.Seconds()),
			append(surveys, s.All.Seconds()), append(peaks, float64(s.PeakKiB)/1000*1.024)
	}
	median := func(values []float64) float64 { slices.Sort(values); return values[len(values)/2] }
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(finds)*1000, "find-ms")
	b.ReportMetric(median(walks)/median(finds), "walk/find")
	b.ReportMetric(median(sizes)/median(finds), "walk+sizes/find")
	b.ReportMetric(median(surveys)/median(finds), "survey/find")
	b.ReportMetric(median(peaks), "peak-MB")
}
