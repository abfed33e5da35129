package metric

// GPUs, through NVML in an isolated child. Entity "gpu/<uuid>".
var (
	GPUUtil = Desc{"gpu_utilization_ratio", Ratio, Gauge, "share of the time since the last reading in which " +
		"at least one kernel ran (NVML sample buffer); proves idleness, not efficiency"}
	GPUMemUsed = Desc{"gpu_memory_used_bytes", Bytes, Gauge, "device memory allocated by all processes, caching " +
		"allocators included; of a MIG slice, where the GPU is cut up"}
	GPUMemTotal   = Desc{"gpu_memory_total_bytes", Bytes, Gauge, "device memory"}
	GPUPower      = Desc{"gpu_power_w", Watts, Gauge, "power draw"}
	GPUPowerLimit = Desc{"gpu_power_limit_w", Watts, Gauge, "enforced power limit"}
	GPUSMClock    = Desc{"gpu_sm_clock_hz", Hertz, Gauge, "SM clock now"}
	GPUSMClockMax = Desc{"gpu_sm_clock_max_hz", Hertz, Gauge, "highest SM clock"}
	GPUThrottle   = Desc{"gpu_throttle_reasons", Bitmask, Gauge, "NVML clocks event reasons bit mask"}
	GPUPcieGen    = Desc{"gpu_pcie_generation", Count, Gauge, "PCIe generation of the link now (links train down " +
		"when idle)"}
	GPUPcieGenMax  = Desc{"gpu_pcie_generation_max", Count, Gauge, "highest PCIe generation device and slot allow"}
	GPUPcieWidth   = Desc{"gpu_pcie_width", Count, Gauge, "PCIe lanes in use"}
	GPUPcieWidthMx = Desc{"gpu_pcie_width_max", Count, Gauge, "PCIe lanes device and slot allow"}
	GPUPcieRx      = Desc{"gpu_pcie_rx_bytes_per_s", BytesPerS, Gauge,
		"bytes per second received by the GPU (host to device)"}
	GPUGraphics = Desc{"gpu_graphics_activity_ratio", Ratio, Gauge,
		"share of the time in which any work was active on the GPU or MIG slice (GPM; Hopper and newer), mean over " +
			"half a second"}
	GPUSMActivity = Desc{"gpu_sm_activity_ratio", Ratio, Gauge, "mean share of SMs with at least one warp (GPM; " +
		"Hopper and newer)"}
	GPUDRAM = Desc{"gpu_dram_activity_ratio", Ratio, Gauge, "share of peak device-memory bandwidth in use " +
		"(GPM; Hopper and newer)"}
	GPUJobMemory = Desc{"gpu_job_memory_bytes", Bytes, Gauge, "device memory held by the job's own processes, where " +
		"NVML's pids can be matched"}
	GPUOthersUtil = Desc{"gpu_others_utilization_ratio", Ratio, Gauge,
		"SM utilization by processes that are not the job's, added up, where NVML's pids can be matched; of a share " +
			"of the time each, so that the sum may exceed 1"}
	GPULost = Desc{"gpu_lost", Count, Gauge, "1 from the moment the driver reports the GPU lost"}
)

// GPU lists the signals of the gpu sampler.
var GPU = []Desc{GPUUtil, GPUMemUsed, GPUMemTotal, GPUPower, GPUPowerLimit, GPUSMClock, GPUSMClockMax, GPUThrottle,
	GPUPcieGen, GPUPcieGenMax, GPUPcieWidth, GPUPcieWidthMx, GPUPcieRx, GPUSMActivity, GPUDRAM, GPUJobMemory, GPULost,
	GPUGraphics, GPUOthersUtil}
