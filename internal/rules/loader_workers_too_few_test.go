package rules

import (
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/predict"
	"github.com/pipetune/pipetune/internal/stat"
)

// What more workers take is reported as what is added, and of each trainer where there are several.
func TestMemoryOfMoreWorkers(t *testing.T) {
	text := `
signal num_workers 2
signal input_wait_ratio 0.6
signal worker_busy_ratio 1
signal worker_running_ratio 0.9
signal free_step_time_s 0.02
signal worker_cpu_per_batch_s 0.1
signal worker_cpu_ratio 0.9
signal worker_wait_per_batch_s 0.005
signal batches_per_s 19
signal usable_cpus 24
signal usable_cpu_busy_ratio 0.2
signal batch_bytes 100Mi
signal worker_private_bytes 100Mi
`
	for extra, want := range map[string]string{
		"":               "up to 300 MiB more memory for the workers, and 900 MiB more of finished batches in /dev/shm",
		"signal ranks 4": "of finished batches in /dev/shm in each of 4 trainers",
	} {
		c := must.Get(parseCase(text + extra))(t)
		findings, _ := diagnose.Judge(&loaderWorkersTooFew, c.evidence)
		if len(findings) != 1 {
			t.Fatalf("%v", findings)
		}
		if change := findings[0].Recommendations[0]; !strings.HasSuffix(change.Caveat, want) {
			t.Errorf("%s: %s -> %s: %q", extra, *change.From, change.To, change.Caveat)
		}
	}
}

// TestWhyNoMoreWorkers: CPUs are no limit to workers that wait, and are not called one.
func TestWhyNoMoreWorkers(t *testing.T) {
	for _, c := range []struct {
		cpu, wait float64
		clamp     predict.Clamp
		says      string
	}{
		{0.09, 0.01, predict.ByCPUs, "usable CPUs allow no more"},
		{0.01, 0.09, predict.ByCPUs, "more workers for each usable CPU are not recommended, though they mostly wait"},
		{0.01, 0.09, predict.ByShm, "/dev/shm allows no more"},
	} {
		costs := predict.Loader{CPU: stat.Exact(c.cpu), Wait: stat.Exact(c.wait), FreeStep: stat.Exact(0.02)}
		l := &diagnose.Loader{Pipeline: predict.Pipeline{Loader: costs}, Seen: costs}
		if got := why(l, diagnose.Needed{Clamp: c.clamp}); !strings.HasSuffix(got, c.says) {
			t.Errorf("%v s on a CPU, %v s waiting, kept by %s: %q", c.cpu, c.wait, c.clamp, got)
		}
	}
}
