package evidence

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/recording"
)

var update = flag.Bool("update", false, "rewrite testdata/recordings/derived.golden")

const recordings = "../../testdata/recordings"

// keptSignals are the signals of real recordings that derived.golden keeps.
var keptSignals = []metric.Desc{metric.InputWait, metric.HostTime, metric.DeviceTime, metric.EpochGap,
	metric.InWorkerless,
	metric.NumWorkers, metric.BatchesPerS, metric.BatchBytes, metric.FreeStepTime, metric.QueueBatches, metric.Restarts,
	metric.EpochTime, metric.RestartGap, metric.RestartStart, metric.HeadOfLine, metric.LoaderIsAhead,
	metric.WorkerIdle,
	metric.WorkerRunning, metric.WorkerStorage, metric.WorkerOtherWait, metric.WorkerCPU, metric.WorkerRunDelay,
	metric.WorkerCPUBatch, metric.WorkerPrivate, metric.ReadBytes, metric.CacheHits,
	metric.BytesPerRead, metric.HDF5Opens, metric.OpensPerBatch, metric.DistinctOpens, metric.HandlePresent,
	metric.DatasetBytes, metric.HDF5Chunk, metric.HDF5Item, metric.HDF5Cache, metric.UsableBusy, metric.JobCPU,
	metric.OtherCPU, metric.Available, metric.DiskLatency, metric.WindowTime,
	metric.StepTime, metric.SamplesPerS, metric.WorkerWaitBatch, metric.MadeItem, metric.MadeOpen, metric.MadeRead,
	metric.MadeDecode, metric.MadeOther, metric.MadeCollate, metric.FetchTime, metric.FetchP99, metric.FetchCPU,
	metric.Evaluation, metric.EvalWait}

func TestRecordings(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(recordings, "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	var got strings.Builder
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		t.Run(name, func(t *testing.T) {
			e := derive(t, file)
			sound(t, e)
			writeFigures(&got, name, e)
		})
	}
	golden := filepath.Join(recordings, "derived.golden")
	if *update {
		must.Do(t, os.WriteFile(golden, []byte(got.String()), 0o644))
	}
	want := must.Get(os.ReadFile(golden))(t)
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")); diff != "" {
		t.Errorf("what is derived has changed (-want +got):\n%s", diff)
	}
}

func derive(t *testing.T, file string) *Evidence {
	t.Helper()
	return must.Get(FromRecording(read(t, file)))(t)
}

func read(t *testing.T, file string) *recording.Recording {
	t.Helper()
	f := must.Get(os.Open(file))(t)
	defer f.Close()
	return must.Get(recording.Read(f))(t)
}

// writeFigures writes the main figures of one recording.
func writeFigures(out *strings.Builder, name string, e *Evidence) {
	fmt.Fprintf(out, "%s\n", name)
	for _, d := range keptSignals {
		if v, ok := e.Get(d); ok {
			fmt.Fprintf(out, "  %-28s %10.4g  %10.4g .. %-10.4g %s\n", d.Name, v.Center, v.Lo, v.Hi, v.Basis)
		}
	}
	if fed := e.Facts.Fed; fed != nil {
		fmt.Fprintf(out, "  fed by %+v\n", *fed)
	}
	if s := e.Window.Startup; s.Whole {
		fmt.Fprintf(out, "  starting up: %s\n", s.Doing)
	}
	for _, w := range e.Warnings {
		fmt.Fprintf(out, "  warning: %s\n", w)
	}
}
