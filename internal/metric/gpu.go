package metric

// GPUs, through NVML in an isolated child. Entity "gpu/<uuid>".
var (
	GPUUtil = GPU.gauge("gpu_utilization_ratio", Ratio, "share of the time since the last reading in which at least "+
		"one kernel ran (NVML sample buffer); proves idleness, not efficiency")
	GPUMemUsed = GPU.gauge("gpu_memory_used_bytes", Bytes, "device memory allocated by all processes, caching "+
		"allocators included; of a MIG slice, where the GPU is cut up")
	GPUMemTotal   = GPU.gauge("gpu_memory_total_bytes", Bytes, "device memory")
	GPUPower      = GPU.gauge("gpu_power_w", Watts, "power draw")
	GPUPowerLimit = GPU.gauge("gpu_power_limit_w", Watts, "enforced power limit")
	GPUSMClock    = GPU.gauge("gpu_sm_clock_hz", Hertz, "SM clock now")
	GPUSMClockMax = GPU.gauge("gpu_sm_clock_max_hz", Hertz, "highest SM clock")
	GPUThrottle   = GPU.gauge("gpu_throttle_reasons", Bitmask, "NVML clocks event reasons bit mask")
	GPUPcieGen    = GPU.gauge("gpu_pcie_generation", Count, "PCIe generation of the link now (links train down when "+
		"idle)")
	GPUPcieGenMax  = GPU.gauge("gpu_pcie_generation_max", Count, "highest PCIe generation device and slot allow")
	GPUPcieWidth   = GPU.gauge("gpu_pcie_width", Count, "PCIe lanes in use")
	GPUPcieWidthMx = GPU.gauge("gpu_pcie_width_max", Count, "PCIe lanes device and slot allow")
	GPUPcieRx      = GPU.gauge("gpu_pcie_rx_bytes_per_s", BytesPerS, "bytes per second received by the GPU (host to "+
		"device)")
	GPUGraphics = GPU.gauge("gpu_graphics_activity_ratio", Ratio, "share of the time in which any work was active "+
		"on the GPU or MIG slice (GPM; Hopper and newer), mean over half a second")
	GPUSMActivity = GPU.gauge("gpu_sm_activity_ratio", Ratio, "mean share of SMs with at least one warp (GPM; Hopper "+
		"and newer)")
	GPUDRAM = GPU.gauge("gpu_dram_activity_ratio", Ratio, "share of peak device-memory bandwidth in use (GPM; Hopper "+
		"and newer)")
	GPUJobMemory = GPU.gauge("gpu_job_memory_bytes", Bytes, "device memory held by the job's own processes, where "+
		"NVML's pids can be matched")
	GPUOthersUtil = GPU.gauge("gpu_others_utilization_ratio", Ratio, "SM utilization by processes that are not the "+
		"job's, added up, where NVML's pids can be matched; of a share of the time each, so that the sum may exceed 1")
	GPULost = GPU.gauge("gpu_lost", Count, "1 from the moment the driver reports the GPU lost")
)
