package evidence

import (
	"strings"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
)

// madeFrom says which raw signals a derived one is made from, so that the reason for a missing one can be told.
var madeFrom = map[string][]metric.Desc{
	metric.DataStall.Name:        {metric.LoaderWaiting, metric.LoaderLooks, metric.GPUUtil},
	metric.Headroom.Name:         {metric.LoaderWaiting, metric.LoaderLooks, metric.GPUUtil},
	metric.DeviceWait.Name:       {metric.GPUUtil, metric.HostSamples},
	metric.RankStallSpread.Name:  {metric.LoaderWaiting, metric.LoaderLooks, metric.GPUUtil},
	metric.RestBusy.Name:         {metric.GPUUtil},
	metric.CopyTime.Name:         {metric.GPUUtil, metric.GPUPcieRx},
	metric.GPUOthersBusy.Name:    {metric.GPUOthersUtil},
	metric.InputWait.Name:        {metric.LoaderWaiting, metric.LoaderLooks, metric.LooksQueuePoll},
	metric.HostTime.Name:         {metric.LooksRunning},
	metric.DeviceTime.Name:       {metric.GPUUtil, metric.LooksTotal},
	metric.EpochGap.Name:         {metric.LoaderLooks, metric.LoaderWorkers},
	metric.MainCPU.Name:          {metric.ProcMainCPU},
	metric.MainRunDelay.Name:     {metric.ProcRunDelay},
	metric.MainStorage.Name:      {metric.LooksDisk},
	metric.MainReadBytes.Name:    {metric.ProcReadChars},
	metric.InWorkerless.Name:     {metric.ProcReadChars, metric.LooksRunning},
	metric.NumWorkers.Name:       {metric.LoaderWorkers},
	metric.Ranks.Name:            {metric.LooksTotal},
	metric.BatchesPerS.Name:      {metric.LoaderBatches, metric.LoaderTensors},
	metric.SamplesPerS.Name:      {metric.LoaderBatches, metric.LoaderTensors},
	metric.BatchBytes.Name:       {metric.LoaderBatchBytes, metric.LoaderTensors},
	metric.StepTime.Name:         {metric.LoaderBatches, metric.LoaderTensors},
	metric.FreeStepTime.Name:     {metric.LoaderBatches, metric.LoaderTensors, metric.LoaderWaiting},
	metric.QueueBatches.Name:     {metric.LoaderQueued, metric.LoaderTensors},
	metric.QueueCapacity.Name:    {metric.LoaderQueued, metric.LoaderTensors},
	metric.Restarts.Name:         {metric.LoaderWorkers},
	metric.EpochTime.Name:        {metric.LoaderWorkers},
	metric.RestartGap.Name:       {metric.LoaderWorkers},
	metric.HeadOfLine.Name:       {metric.LoaderBlocked, metric.LooksQueuePoll},
	metric.LoaderIsAhead.Name:    {metric.LoaderAhead, metric.LooksQueuePoll},
	metric.IdleWhileWaits.Name:   {metric.LoaderWaitIdle, metric.LooksQueuePoll},
	metric.WorkerIdle.Name:       {metric.LooksQueuePoll},
	metric.WorkerBusy.Name:       {metric.LooksQueuePoll},
	metric.WorkerRunning.Name:    {metric.LooksRunning},
	metric.WorkerStorage.Name:    {metric.LooksDisk, metric.LooksFileRead},
	metric.WorkerOpenWait.Name:   {metric.LooksFileOpen},
	metric.WorkerFileLock.Name:   {metric.LooksFileLock},
	metric.WorkerLock.Name:       {metric.LooksFutex},
	metric.WorkerHandOver.Name:   {metric.LooksPipeWrite},
	metric.WorkerOtherWait.Name:  {metric.LooksOther},
	metric.WorkerPrograms.Name:   {metric.ProcEndedCPU, metric.LooksOther},
	metric.WorkerStopped.Name:    {metric.LooksStopped},
	metric.TrainerStopped.Name:   {metric.LooksStopped},
	metric.WorkerCPU.Name:        {metric.ProcCPU},
	metric.WorkerRunDelay.Name:   {metric.ProcRunDelay},
	metric.WorkerCPUBatch.Name:   {metric.ProcCPU, metric.LoaderBatches, metric.LoaderTensors},
	metric.WorkerWaitBatch.Name:  {metric.LooksTotal, metric.LoaderBatches, metric.LoaderTensors},
	metric.WorkerThreads.Name:    {metric.ProcThreads},
	metric.WorkerRSS.Name:        {metric.ProcRSS},
	metric.WorkerPrivate.Name:    {metric.ProcRSS, metric.ProcShared},
	metric.WorkerGrowth.Name:     {metric.ProcRSS},
	metric.WorkerImbalance.Name:  {metric.ProcCPU},
	metric.WorkersOneCPUSet.Name: {metric.CPUUsable},
	metric.ReadBytes.Name:        {metric.ProcReadChars},
	metric.StorageBytes.Name:     {metric.ProcReadBytes},
	metric.CacheHits.Name:        {metric.ProcReadBytes, metric.ProcReadChars},
	metric.BytesPerRead.Name:     {metric.ProcReadCalls, metric.ProcReadChars},
	metric.ReadsPerBatch.Name:    {metric.ProcReadCalls, metric.LoaderBatches, metric.LoaderTensors},
	metric.StoragePerBatch.Name:  {metric.ProcReadBytes, metric.LoaderBatches, metric.LoaderTensors},
	metric.FileOpens.Name:        {metric.DatasetOpens},
	metric.HDF5Opens.Name:        {metric.DatasetOpens},
	metric.OpensPerBatch.Name:    {metric.DatasetOpens, metric.LoaderBatches, metric.LoaderTensors},
	metric.DistinctOpens.Name:    {metric.DatasetDistinct, metric.DatasetOpens},
	metric.HandlePresent.Name:    {metric.DatasetPresent, metric.DatasetLooks},
	metric.DatasetBytes.Name:     {metric.DatasetFiles},
	metric.DatasetFileN.Name:     {metric.DatasetFiles},
	metric.FileBytes.Name:        {metric.DatasetFiles},
	metric.UsableCPUs.Name:       {metric.CPUUsable},
	metric.PresentCPUs.Name:      {metric.CPUPresent},
	metric.CPUBusyRatio.Name:     {metric.CPUBusy, metric.CPUIdle},
	metric.UsableBusy.Name:       {metric.CPUBusy, metric.CPUUsable, metric.CPUPresent},
	metric.JobCPU.Name:           {metric.ProcCPU},
	metric.TrainerCPU.Name:       {metric.ProcCPU},
	metric.OtherCPU.Name:         {metric.CPUBusy, metric.ProcCPU},
	metric.StealRatio.Name:       {metric.CPUSteal},
	metric.Throttled.Name:        {metric.CgroupCPUThrottled, metric.CgroupCPUPeriods},
	metric.CPUPressure.Name:      {metric.PressureCPUSome},
	metric.IOPressure.Name:       {metric.PressureIOSome},
	metric.MemPressure.Name:      {metric.PressureMemFull},
	metric.Available.Name:        {metric.MemAvailable},
	metric.MemLimit.Name:         {metric.MemTotal, metric.CgroupMemLimit},
	metric.MemLimitUsed.Name:     {metric.CgroupMemUsed, metric.MemAvailable},
	metric.SwapInRate.Name:       {metric.SwapIn},
	metric.SwapOutRate.Name:      {metric.SwapOut},
	metric.RefaultRate.Name:      {metric.Refaults, metric.CgroupRefaults},
	metric.ShmFree.Name:          {metric.ShmUsed, metric.ShmSize},
	metric.ShmTotal.Name:         {metric.ShmSize},
	metric.DiskReadRate.Name:     {metric.DiskReads},
	metric.DiskByteRate.Name:     {metric.DiskReadBytes},
	metric.DiskLatency.Name:      {metric.DiskReadTime, metric.DiskReads},
	metric.DiskQueue.Name:        {metric.DiskQueueTime},
	metric.DiskUtil.Name:         {metric.DiskBusy},
	metric.StorageNet.Name:       {metric.DatasetFiles},
	metric.StorageTmpfs.Name:     {metric.DatasetFiles},
	metric.Rotational.Name:       {metric.DatasetFiles},
	metric.ReadIOPSLimit.Name:    {metric.CgroupReadIOPSMax},
	metric.ReadBPSLimit.Name:     {metric.CgroupReadBPSMax},
	metric.GPUBusy.Name:          {metric.GPUUtil},
	metric.GPUCount.Name:         {metric.GPUUtil},
	metric.GPUMemUsedRatio.Name:  {metric.GPUMemUsed, metric.GPUMemTotal},
	metric.GPUPowerRatio.Name:    {metric.GPUPower, metric.GPUPowerLimit},
	metric.GPUThrottled.Name:     {metric.GPUThrottle},
	metric.GPUSMActive.Name:      {metric.GPUSMActivity},
	metric.GPUDRAMActive.Name:    {metric.GPUDRAM},
	metric.PcieGenRatio.Name:     {metric.GPUPcieGen, metric.GPUPcieWidth, metric.GPUPcieGenMax, metric.GPUPcieWidthMx},
	metric.PcieRxRate.Name:       {metric.GPUPcieRx},
	metric.GPUIdleJob.Name:       {metric.GPUUtil, metric.GPUMemUsed},
	metric.WindowTime.Name:       {metric.LooksTotal},
	metric.LookCover.Name:        {metric.LooksTotal},
	metric.WaitNoise.Name:        {metric.LoaderWaiting, metric.LoaderLooks},
	metric.SyscallSeen.Name:      {metric.LooksQueuePoll}, // noted as looks_* where system calls are refused
}

// whyMissing finds the note that covers a derived signal: under its own name, else one of the raw signals it is made from, first of
// those the one it needs most.
func whyMissing(notes []recording.Unseen, d metric.Desc) (reason, cure string) {
	names := []string{d.Name}
	for _, raw := range madeFrom[d.Name] {
		names = append(names, raw.Name)
	}
	for _, name := range names {
		for _, u := range notes {
			if covers(u.Signal, name) {
				return u.Reason, u.Cure
			}
		}
	}
	return "", ""
}

// covers reports whether a note's signal, a name or a prefix with a star, means this one.
func covers(signal, name string) bool {
	if prefix, starred := strings.CutSuffix(signal, "*"); starred {
		return strings.HasPrefix(name, prefix)
	}
	return signal == name
}
