package diagnose

import (
	"math"
	"testing"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/predict"
	"github.com/pipetune/pipetune/pkg/report"
)

// lockedLoader is of two workers that take 94.8 ms for a batch, a third of which they wait for a lock.
var lockedLoader = with(starvingLoader, readings{"num_workers": 2, "batches_per_s": 21.1, "free_step_time_s": 0.015,
	"worker_cpu_per_batch_s": 0.0067, "worker_wait_per_batch_s": 0.0881, "input_wait_ratio": 0.68,
	"worker_cpu_ratio": 0.07, "worker_run_delay_ratio": 0, "worker_lock_ratio": 1.0 / 3,
	"worker_other_wait_ratio": 0.6})

// modelOf is the model of a loader, whose error is none.
func modelOf(t *testing.T, facts evidence.Facts, signals readings) *Loader {
	t.Helper()
	l, ok := LoaderOf(saw(facts, signals), predict.Calibration{})
	if !ok {
		t.Fatal("no model")
	}
	return l
}

// What workers wait for each other is no cost of a batch, and more of them bring no more.
func TestWorkersThatShareALock(t *testing.T) {
	l := modelOf(t, evidence.Facts{}, lockedLoader)
	if rate := 21.1; math.Abs(l.Lock.Center*rate-0.943) > 0.003 || math.Abs(l.Lock.Lo*rate-0.98*2/3) > 0.003 ||
		math.Abs(l.Lock.Hi*rate-1) > 1e-9 || math.Abs(l.Wait.Center-0.0881+0.0948/3) > 1e-4 {
		t.Errorf("holds the lock for %+v s of a batch, waits %g s beside", l.Lock, l.Wait.Center)
	}
	four := l.WithWorkers(4)
	if four == nil || four.After > 1.03*four.Before || four.Lo > four.Before || four.Hi > 1.4*four.Before ||
		four.Limit != "a lock that the workers share" {
		t.Errorf("four workers: %+v", four)
	}
	if free := l.Unlocked(); free == nil || math.Abs(free.Hi/(2/0.0632)-1) > 0.05 || free.Lo <= free.Before {
		t.Errorf("without the lock: %+v", free)
	}
	r := planned(t, lockedLoader, evidence.Facts{})
	if len(r.Plans) != 0 || r.Outlook == nil || r.Outlook.Outcome != report.OutcomeNothing ||
		r.Outlook.Limit != "a lock that the workers share" {
		t.Errorf("%d plans, %+v", len(r.Plans), r.Outlook)
	}
	must.Do(t, r.Validate())
}

// Ranks lock the same file, and a trainer has its part of the lock's time only.
func TestRanksThatShareAFileLock(t *testing.T) {
	each := with(lockedLoader, readings{"num_workers": 1, "worker_cpu_per_batch_s": 0.0034,
		"worker_wait_per_batch_s": 0.044, "batches_per_s": 21.1, "worker_lock_ratio": 0,
		"worker_file_lock_ratio": 1.0 / 3})
	if l := modelOf(t, evidence.Facts{}, each); l.Lock.N != 0 {
		t.Errorf("one worker alone waits for %+v", l.Lock)
	}
	l := modelOf(t, evidence.Facts{}, with(each, readings{"ranks": 2}))
	if l.Lock.N == 0 || l.Lock.Center*21.1 < 0.9 {
		t.Errorf("one worker of each of two ranks waits for %+v", l.Lock)
	}
	if four := l.WithWorkers(4); four == nil || four.After > 1.05*four.Before {
		t.Errorf("four workers: %+v", four)
	}
}

// Waits that any loader has, and such as no lock among the workers explains, stay what they were: waits that more
// workers do at once.
func TestNoLockThatWorkersShare(t *testing.T) {
	for name, change := range map[string]readings{
		"as much as any waits":        {"worker_lock_ratio": 0.014},
		"both wait":                   {"worker_lock_ratio": 0.8},
		"each for threads of its own": {"worker_shared_lock_ratio": 0.001},
		"one worker": {"num_workers": 1, "worker_cpu_per_batch_s": 0.0034,
			"worker_wait_per_batch_s": 0.044},
	} {
		l := modelOf(t, evidence.Facts{}, with(lockedLoader, change))
		if l.Lock.N != 0 || l.Unlocked() != nil {
			t.Errorf("%s: %+v", name, l.Lock)
		}
		if more := l.WithWorkers(2 * l.Setting.Workers); more == nil || more.After < 1.7*more.Before {
			t.Errorf("%s: twice the workers bring %+v", name, more)
		}
	}
}
