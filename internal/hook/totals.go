package hook

import "github.com/pipetune/pipetune/internal/metric"

// total is one running total of a message and the signal it becomes.
type total struct {
	desc    metric.Desc
	time    bool // nanoseconds, recorded in seconds; else a count
	unknown bool // 0 says that it was not counted, and is not recorded
}

// The totals of a trainer for one loop, in the order of stepTotals.values.
var stepSignals = [...]total{
	stepCount: {desc: metric.HookSteps}, stepGrad: {desc: metric.HookGradSteps}, stepAside: {desc: metric.HookAside, unknown: true}, {desc: metric.HookSamples, unknown: true},
	stepWait: {desc: metric.HookWait, time: true}, {desc: metric.HookFirstWait, time: true}, stepCreate: {desc: metric.HookCreate, time: true},
	stepDrain: {desc: metric.HookDrain, time: true}, stepTime: {desc: metric.HookStepTime, time: true}, {desc: metric.HookNested, time: true},
	{desc: metric.HookLoaders, unknown: true}, {desc: metric.HookBegun}, {desc: metric.HookEpochs},
	{desc: metric.HookSyncs, unknown: true}, {desc: metric.HookSyncTime, time: true, unknown: true},
	{desc: metric.HookDeviceSteps, unknown: true}, {desc: metric.HookDeviceTime, time: true, unknown: true}, {desc: metric.HookDeviceStarved, time: true, unknown: true},
}

// Where some totals of a trainer stand.
const (
	stepCount  = 0
	stepGrad   = 1
	stepAside  = 2
	stepWait   = 4
	stepCreate = 6
	stepDrain  = 7
	stepTime   = 8
)

type stepValues [len(stepSignals)]int64

func (s *stepTotals) values() stepValues {
	return stepValues{s.Steps, s.GradSteps, s.AsideSteps, s.Samples, s.Wait, s.FirstWait, s.Create, s.Drain, s.StepTime, s.Nested, s.Loaders, s.Begun, s.Epochs,
		s.Syncs, s.SyncTime, s.DeviceSteps, s.DeviceTime, s.DeviceStarved}
}

// The totals of whoever makes batches, in the order of workTotals.values.
var workSignals = [...]total{
	{desc: metric.HookFetches}, {desc: metric.HookItems}, {desc: metric.HookFetchTime, time: true}, {desc: metric.HookFetchCPU, time: true},
	{desc: metric.HookItemTime, time: true}, {desc: metric.HookCollate, time: true}, {desc: metric.HookOpens}, {desc: metric.HookOpenTime, time: true},
	{desc: metric.HookReads}, {desc: metric.HookReadTime, time: true}, {desc: metric.HookDecodes}, {desc: metric.HookDecodeTime, time: true},
}

type workValues [len(workSignals)]int64

func (w *workTotals) values() workValues {
	return workValues{w.Fetches, w.Items, w.FetchTime, w.FetchCPU, w.ItemTime, w.Collate, w.Opens, w.OpenTime, w.Reads, w.ReadTime, w.Decodes, w.DecodeTime}
}

const (
	// maxCount bounds every count and index, maxTime every time in nanoseconds (31 years): beyond them no hook has counted. Moments are bounded
	// by maxTime too, which is a machine's uptime.
	maxCount = 1e15
	maxTime  = 1e18
)

// plausible says whether every total lies within its bounds and none is below what was told before.
func plausible(signals []total, values, before []int64) bool {
	for i, v := range values {
		if v < before[i] || v > maxTime || !signals[i].time && v > maxCount {
			return false
		}
	}
	return true
}

// plus adds without overflow: sums of hostile totals stop at the greatest number.
func plus(a, b int64) int64 {
	if sum := a + b; sum >= a {
		return sum
	}
	return 1<<63 - 1
}

// product multiplies without overflow; neither factor is negative.
func product(a, b int64) int64 {
	if a != 0 && b > (1<<63-1)/a {
		return 1<<63 - 1
	}
	return a * b
}
