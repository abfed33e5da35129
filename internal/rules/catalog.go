// Package rules holds every rule, one file each. A rule is one cause: what it needs, how it tells, what to change to
// which value. It reads evidence and reports findings; it touches no machine. What a person reads of it lies in pages/.
//
// catalog.go is the table of contents. cause.go makes a finding of a part of the loading time, and the effect of a
// change; blame.go says how much of the wait such a part accounts for. What rules about storage and about chunks share
// lies in storage_wait.go and inflate.go; what measured halves share, in measured.go and inflate_measured.go.
package rules

import "github.com/pipetune/pipetune/internal/diagnose"

// All lists every rule, by group.
func All() []diagnose.Rule {
	return []diagnose.Rule{
		loaderWorkersZero,
		loaderWorkersTooFew,
		loaderWorkersTooMany,
		loaderWorkersRestart,
		loaderWorkersShareALock,
		loaderWorkersPinned,
		loaderWorkerImbalance,
		loaderFewerShardsThanWorkers,
		loaderSlowSampleBlocks,
		loaderSpawnStartCost,
		loaderPrefetchShallow,
		loaderPrefetchMemory,
		loaderPageableBatches,
		loaderCollateCost,
		loaderSamplerCost,
		loaderPinThreadBound,
		loaderRowsOneByOne,
		loaderManyTensors,
		loaderWideBatches,
		loaderThreadsOversubscribed,

		hdf5ReopenedPerItem,
		hdf5ChunkExceedsCache,
		hdf5ChunkMismatch,
		hdf5CacheTooSmall,
		hdf5FilterCPU,
		hdf5FileLock,
		hdf5DatasetPerSample,

		storageSaturated,
		storageLatencyBound,
		storageNetwork,
		storageRemoteWait,
		storageRotational,
		storageSmallFiles,
		storageChunkReadAgain,
		storageReadAmplification,
		storageCrowdedFolder,
		storageColdCache,
		storageFitsInMemory,
		storageTmpfsIsNot,

		imagePNGDecode,
		imageOversized,

		cpuDecodeBound,
		cpuSaturated,
		cpuNoisyNeighbour,
		cpuQuotaThrottled,
		cpuAffinity,
		cpuScalingBend,

		memorySwap,
		memoryShmTooSmall,
		memoryWorkerGrowth,
		memoryLimitNear,
		memoryPageCacheThrash,

		hostMainThreadBound,
		hostGILHeld,
		hostSyncPoints,
		gpuBound,
		gpuBatchHeadroom,
		gpuMemoryFull,
		gpuThrottled,
		gpuPcieDegraded,
		gpuIdleNoJob,
		gpuSmallKernels,
		gpuShared,
		gpuCopies,

		jobEpochGap,
		jobEvaluationSequential,
		jobCheckpointPauses,
		jobFeedersTooFew,
		jobOneProcessFeedsAll,
		jobStraggler,
		jobCollectiveWait,

		qualityTooShort,
		qualityNoisy,
		qualityPartialVisibility,
	}
}
