package nvml_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/nvml"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/sampler"
)

// noProcesses is a job that uses no GPU.
type noProcesses struct{}

func (noProcesses) Tree() *job.Tree { return &job.Tree{} }

// kept is a Sink that keeps all.
type kept struct {
	values map[string][]float64 // by "metric entity"
	unseen []string
	length time.Duration
}

func (k *kept) Add(d metric.Desc, entity string, value float64) {
	k.values[d.Name+" "+entity] = append(k.values[d.Name+" "+entity], value)
}
func (k *kept) Event(string, string, map[string]string) {}
func (k *kept) Unseen(signal, entity, reason, _ string) {
	k.unseen = append(k.unseen, strings.Join([]string{signal, entity, reason}, "|"))
}

func (k *kept) of(d metric.Desc, entity string) []float64 { return k.values[d.Name+" "+entity] }

// whole returns the reasons why all GPUs were unseen.
func (k *kept) whole() (reasons []string) {
	for _, u := range k.unseen {
		if reason, found := strings.CutPrefix(u, "gpu_*||"); found {
			reasons = append(reasons, reason)
		}
	}
	return reasons
}

// watch runs the real sampler on a real child with a fake driver until enough says so, at most for limit. It fails
// when a tick is held up.
func watch(t *testing.T, config string, limit time.Duration, enough func(*kept) bool) *kept {
	t.Helper()
	runner := isolate.New(isolate.Config{Args: []string{"__child"}, Environ: []string{"LD_LIBRARY_PATH=" +
		nvml.BuildDriver(t, config)}})
	defer runner.Close()
	sink := &kept{values: map[string][]float64{}}
	gpu := sampler.NewGPU(procfs.FS{}, runner.Child(sampler.GPUSpec()), noProcesses{}, true)
	must.Do(t, gpu.Start(t.Context(), sink))
	begin, slowest := time.Now(), time.Duration(0)
	ticker := time.NewTicker(gpu.Every())
	defer ticker.Stop()
	for sink.length < limit && !enough(sink) {
		<-ticker.C
		tick := time.Now()
		gpu.Sample(t.Context(), sink)
		slowest = max(slowest, time.Since(tick))
		sink.length = time.Since(begin)
	}
	if slowest > 500*time.Millisecond { // a tick held up by the driver would take its seconds
		t.Errorf("a tick took %v", slowest)
	}
	end := time.Now()
	gpu.Close()
	if took := time.Since(end); took > time.Second {
		t.Errorf("closing took %v", took)
	}
	return sink
}

const (
	first  = "gpu/GPU-00000001-0000-0000-0000-000000000000"
	second = "gpu/GPU-00000002-0000-0000-0000-000000000000"
)

func TestWatchedGPUs(t *testing.T) {
	t.Parallel()
	got := watch(t, "counters\ngpm\n", 20*time.Second, func(k *kept) bool {
		return len(k.of(metric.GPUUtil, first)) >= 5 && len(k.of(metric.GPUSMActivity, first)) >= 1
	})
	for entity, want := range map[string]float64{first: 0.8, second: 0.3} {
		if busy := got.of(metric.GPUUtil, entity); len(busy) < 5 || busy[0] != want || busy[4] != want {
			t.Errorf("%s: utilization %v, want %v", entity, busy, want)
		}
		if activity := got.of(metric.GPUSMActivity, entity); len(activity) == 0 || activity[0] != 0.25 {
			t.Errorf("%s: activity %v", entity, activity)
		}
	}
	if len(got.unseen) > 0 {
		t.Errorf("unseen: %v", got.unseen)
	}
}

func TestWatchedDriverHangs(t *testing.T) {
	t.Parallel()
	got := watch(t, "hang nvmlDeviceGetPowerUsage 7\n", 20*time.Second,
		func(k *kept) bool { return len(k.whole()) > 0 })
	if busy := got.of(metric.GPUUtil, first); len(busy) != 1 {
		// the first reading is of the other GPU alone; of this one the first finds the newest sample, the second
		// counts, the third hangs
		t.Errorf("utilization before the hang: %v", busy)
	}
	if why := got.whole(); len(why) != 1 || !strings.Contains(why[0], "no answer within 4s") ||
		got.length > 6*time.Second {
		t.Errorf("after %v: %v", got.length, why)
	}
}
