// Package rules holds every rule, one file each. A rule is one cause: what it needs, how it tells, what to change to which value, when it
// is wrong. It reads evidence and reports findings; it touches no machine.
//
// catalog.go is the table of contents. What several rules share lies in blame.go (how much of the wait a cause takes), storage_wait.go
// and inflate.go; what their measured halves share, in measured.go and inflate_measured.go.
package rules

import "github.com/pipetune/pipetune/internal/diagnose"

// All lists every rule, by group.
func All() []diagnose.Rule {
	return []diagnose.Rule{
		loaderWorkersZero,
		loaderWorkersTooFew,
		loaderWorkersTooMany,
		loaderWorkersRestart,
		loaderWorkersPinned,
		loaderWorkerImbalance,
		loaderFewerShardsThanWorkers,
		loaderSlowSampleBlocks,
		loaderSpawnStartCost,
		loaderPrefetchShallow,
		loaderPrefetchMemory,
		loaderPageableBatches,
		loaderCollateCost,
		loaderManyTensors,
		loaderWideBatches,
		loaderThreadsOversubscribed,

		hdf5ReopenedPerItem,
		hdf5ChunkExceedsCache,
		hdf5ChunkMismatch,
		hdf5CacheTooSmall,
		hdf5FilterCPU,
		hdf5FileLock,

		storageSaturated,
		storageLatencyBound,
		storageNetwork,
		storageRemoteWait,
		storageRotational,
		storageSmallFiles,
		storageChunkReadAgain,
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
		hostSyncPoints,
		gpuBound,
		gpuBatchHeadroom,
		gpuMemoryFull,
		gpuThrottled,
		gpuPcieDegraded,
		gpuIdleNoJob,
		gpuSmallKernels,
		gpuShared,

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
