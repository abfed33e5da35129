//go:build e2e

package e2e

import "github.com/pipetune/pipetune/pkg/report"

// deviceLoop is a training loop on the stand-in GPU of testdata/device, and what pipetune must say of it.
type deviceLoop struct {
	name      string
	conf      string         // settings of device.conf, and of build.sh
	args      string         // of testdata/jobs/device/train.py
	neighbour string         // of another such job on the same GPU
	visible   string         // CUDA_VISIBLE_DEVICES of the loop, not of its neighbour; "": it has none
	ranks     int            // 0: one
	class     []report.Class // any of these is right; nil: what follows from the timeline
	open      bool           // no counter reports whether the device was busy: stall and headroom may be unknown
	planted   string         // the rule that names the cause, where it is one that no other loop has; "": another one
}

func (l deviceLoop) title() string { return l.name }

var (
	gpuBound      = one(report.GPUBound)
	transferBound = one(report.TransferBound)
	// gpuOrUnknown is what can be said of a device that is the limit and of which no counter tells.
	gpuOrUnknown   = []report.Class{report.GPUBound, report.Inconclusive}
	inputOrUnknown = []report.Class{report.InputBound, report.Inconclusive}
)

// secondSlice is the name of the second MIG instance.
const secondSlice = "MIG-5d000000-0000-4000-8000-000000000002"

// deviceLoops is the table. Milliseconds of loader, launching and device are chosen so that two CPUs suffice.
var deviceLoops = []deviceLoop{
	{
		// Data for free brings a tenth: the wait hides behind queued work.
		name: "async-device-limits", class: gpuBound,
		args: "--loader-ms=90 --device-ms=85 --launch-ms=20 --sync-every=20",
	},
	{
		name: "async-input", class: inputBound,
		args: "--loader-ms=90 --device-ms=30 --launch-ms=10 --sync-every=20",
	},
	{
		// Loading and device add up, and loading is a tenth.
		name: "no-workers-file", class: gpuBound,
		args: "--workers=0 --load=file --loader-ms=8 --device-ms=80 --launch-ms=2",
	},
	{
		name: "no-workers-memory", class: inputBound,
		args: "--workers=0 --load=memory --loader-ms=60 --device-ms=20 --launch-ms=2 --sync=block",
	},
	{
		name: "backward-in-python", class: hostBound,
		args: "--loader-ms=30 --launch-ms=40 --backward-ms=50 --device-ms=50 --sync-every=0",
	},
	{
		name: "no-driver-spin", class: gpuOrUnknown, open: true, conf: "nvml=0",
		args: "--loader-ms=30 --device-ms=80 --launch-ms=2",
	},
	{name: "spin-keeps-up", class: gpuBound, args: "--loader-ms=30 --device-ms=80 --launch-ms=5"},
	{name: "yield-keeps-up", class: gpuBound, args: "--loader-ms=30 --device-ms=80 --launch-ms=5 --sync=yield"},
	{name: "block-keeps-up", class: gpuBound, args: "--loader-ms=30 --device-ms=80 --launch-ms=5 --sync=block"},
	{
		// The host runs ahead until the queue of 1,024 launches is full, minutes later.
		name: "never-sync", class: gpuBound,
		args: "--loader-ms=60 --device-ms=80 --launch-ms=10 --sync-every=0",
	},
	{
		name: "full-queue", class: gpuBound, conf: "queue=16",
		args: "--loader-ms=30 --device-ms=80 --launch-ms=10 --sync-every=0",
	},
	{name: "input-block", class: inputBound, args: "--loader-ms=90 --device-ms=30 --launch-ms=10 --sync=block"},
	{name: "host-python", class: hostBound, args: "--loader-ms=30 --device-ms=25 --launch-ms=5 --after-ms=55"},
	{
		// The driver copies through its own buffer, on the main thread.
		name: "copy-pageable", class: transferBound, conf: "gpm=1", planted: "gpu/copies",
		args: "--loader-ms=30 --device-ms=30 --launch-ms=2 --copy-mb=400 --copy=pageable",
	},
	{
		// Copies run beside kernels over an older link, and take longer than they.
		name: "copy-beside", class: transferBound, conf: "gpm=1 generation=3 link-gb=12", planted: "gpu/copies",
		args: "--loader-ms=30 --device-ms=30 --launch-ms=5 --copy-mb=720 --copy=beside --sync-every=10",
	},
	{
		// A kernel runs nine tenths of the time, on a tenth of the SMs: the host launches too slowly.
		name: "small-kernels", class: hostBound, conf: "gpm=1",
		args: "--loader-ms=30 --device-ms=54 --launch-ms=60 --kernels=60 --activity=0.1 --sync=block",
	},
	{
		// One rank has no data; the other one's collective keeps its GPU "busy" meanwhile.
		name: "ranks-one-starved", class: inputBound, ranks: 2, conf: "devices=2",
		args: "--loader-ms=30 --slow-rank=0 --slow-ms=120 --device-ms=50 --launch-ms=5 --collective-ms=3 --sync=block",
	},
	{
		name: "ranks-in-step", class: gpuBound, ranks: 2, conf: "devices=2",
		args: "--loader-ms=30 --device-ms=70 --launch-ms=5 --collective-ms=3 --sync=block",
	},
	{
		name: "ranks-on-one-gpu", class: gpuBound, ranks: 2,
		args: "--same-gpu --loader-ms=60 --device-ms=40 --launch-ms=5 --collective-ms=1 --sync=block",
	},
	{
		// Another job's kernels take every second slice of the device.
		name: "neighbour-shares", class: gpuBound, neighbour: "--free --device-ms=60 --launch-ms=1 --sync=block",
		args: "--loader-ms=30 --device-ms=40 --launch-ms=5 --sync=block",
	},
	{
		// The device is busy with another job's kernels while this one waits for data.
		name: "neighbour-hides-stall", class: inputBound,
		neighbour: "--free --device-ms=60 --launch-ms=1 --sync=block",
		args:      "--loader-ms=120 --device-ms=15 --launch-ms=5 --sync=block",
	},
	{name: "pinned-input", class: inputBound, args: "--pin --loader-ms=90 --device-ms=30 --launch-ms=10"},
	{name: "pinned-keeps-up", class: gpuBound, args: "--pin --loader-ms=40 --device-ms=80 --launch-ms=5 --sync=block"},
	{
		// A thread of the job's own takes the batches, and the main one waits for it in a lock.
		name: "prefetcher-input", class: inputBound, open: true,
		args: "--prefetcher=2 --loader-ms=90 --device-ms=30 --launch-ms=10",
	},
	{
		name: "prefetcher-keeps-up", class: gpuBound,
		args: "--prefetcher=2 --loader-ms=40 --device-ms=80 --launch-ms=5 --sync=block",
	},
	{
		// Each of a batch's tensors is a message, a mapping and a copy for the one thread that pins.
		name: "pinned-many", class: inputBound, planted: "loader/pin-thread-bound",
		args: "--pin --workers=2 --tensors=150 --loader-ms=1 --device-ms=5 --launch-ms=1 --sync=block",
	},
	{
		name: "pinned-many-keeps-up", class: gpuBound,
		args: "--pin --workers=2 --tensors=10 --loader-ms=1 --device-ms=60 --launch-ms=1 --sync=block",
	},
	{
		name: "evaluation", class: gpuBound,
		args: "--loader-ms=30 --device-ms=60 --launch-ms=5 --epoch-steps=60 --eval-steps=20 --sync=block",
	},
	{
		// Within the epoch, so that workers of both loaders live side by side.
		name: "evaluates-within", class: gpuBound,
		args: "--workers=2 --loader-ms=60 --device-ms=60 --launch-ms=5 --eval-steps=20 --eval-every=60 --sync=block",
	},
	{
		name: "evaluates-within-input", class: inputBound,
		args: "--workers=2 --loader-ms=180 --device-ms=30 --launch-ms=5 --eval-steps=10 --eval-every=60" +
			" --sync-every=10",
	},
	{
		// Workers are started anew for both, so that there is one set at a time.
		name: "evaluates-in-turns", class: gpuBound,
		args: "--restart --workers=2 --loader-ms=60 --device-ms=50 --launch-ms=5 --epoch-steps=100 --eval-steps=25" +
			" --sync=block",
	},
	{
		name: "evaluates-in-turns-input", class: inputBound,
		args: "--restart --workers=2 --loader-ms=160 --device-ms=30 --launch-ms=5 --epoch-steps=60 --eval-steps=15" +
			" --sync-every=10",
	},
	{
		// Training's workers are started anew, those of its evaluation live on.
		name: "evaluates-kept-input", class: inputBound,
		args: "--restart --keep-evaluation --workers=2 --loader-ms=160 --device-ms=30 --launch-ms=5 --epoch-steps=60" +
			" --eval-steps=15 --sync-every=10",
	},
	{
		// The second loader is the slow one.
		name: "zipped-input", class: inputBound,
		args: "--workers=2 --loader-ms=30 --beside-ms=180 --device-ms=40 --launch-ms=5 --sync-every=10",
	},
	{
		name: "zipped-keeps-up", class: gpuBound,
		args: "--workers=2 --loader-ms=30 --beside-ms=120 --device-ms=80 --launch-ms=5 --sync=block",
	},
	{
		name: "mig-keeps-up", class: gpuBound, conf: "mig=7 gpm=1",
		args: "--loader-ms=30 --device-ms=80 --launch-ms=5",
	},
	{
		// Another job keeps the first instance of the GPU busy.
		name: "mig-input", class: inputBound, conf: "mig=2 gpm=1", visible: secondSlice,
		neighbour: "--free --device-ms=60 --launch-ms=1 --sync=block",
		args:      "--loader-ms=90 --device-ms=30 --launch-ms=10 --sync=block",
	},
	{
		// A GPU of before Hopper has no counter of an instance.
		name: "mig-no-counters-input", class: inputOrUnknown, open: true, conf: "mig=3", visible: secondSlice,
		neighbour: "--free --device-ms=60 --launch-ms=1 --sync=block",
		args:      "--loader-ms=90 --device-ms=30 --launch-ms=10 --sync-every=10",
	},
	{
		// The driver has counters and refuses them.
		name: "mig-refused-keeps-up", class: gpuOrUnknown, open: true, conf: "mig=7 gpm=2", visible: secondSlice,
		args: "--loader-ms=30 --device-ms=80 --launch-ms=5 --sync=block",
	},
	{
		// The driver reports neither utilization nor activity, as in some virtual machines.
		name: "no-counters-input", class: inputOrUnknown, open: true, conf: "utilization=0",
		args: "--loader-ms=90 --device-ms=30 --launch-ms=10 --sync=block",
	},
	{
		// The backward pass of one step runs beside the forward pass of the next, and takes longer.
		name: "backward-beside", class: hostBound,
		args: "--loader-ms=30 --launch-ms=5 --forward-native-ms=20 --backward-native-ms=70 --backward-beside" +
			" --device-ms=35 --sync-every=0",
	},
	{name: "amp", class: gpuBound, args: "--amp --loader-ms=30 --device-ms=70 --launch-ms=5 --after-ms=3 --sync=block"},
	{
		name: "hdf5-input", class: inputBound,
		args: "--load=hdf5 --loader-ms=70 --device-ms=20 --launch-ms=5 --sync=block",
	},
	{
		name: "cpu-loader-keeps-up", class: gpuBound,
		args: "--load=cpu --loader-ms=50 --device-ms=80 --launch-ms=5 --sync=block",
	},
	{
		// The gradients of four steps are summed up before the optimizer waits for the device.
		name: "accumulate-keeps-up", class: gpuBound,
		args: "--loader-ms=50 --device-ms=60 --launch-ms=10 --sync-every=4",
	},
	{
		name: "accumulate-input", class: inputBound,
		args: "--workers=2 --prefetch=4 --loader-ms=160 --device-ms=40 --launch-ms=10 --sync-every=8 --sync=block",
	},
	{
		// The thread that spins for the device takes a CPU from the workers.
		name: "cpu-workers-spin", class: inputBound,
		args: "--workers=2 --load=cpu --loader-ms=120 --device-ms=25 --launch-ms=5",
	},
	{
		// Without a wait for the device the main thread loads beside the kernels.
		name: "no-workers-beside-device", class: gpuBound,
		args: "--workers=0 --load=cpu --loader-ms=50 --device-ms=80 --launch-ms=5 --sync-every=0",
	},
	{
		name: "no-workers-input", class: inputBound,
		args: "--workers=0 --load=cpu --loader-ms=80 --device-ms=30 --launch-ms=5 --sync-every=0",
	},
	{
		name: "slow-store", class: inputBound,
		args: "--workers=3 --loader-ms=300 --device-ms=20 --launch-ms=5 --sync=yield",
	},
	{name: "host-launches", class: hostBound, args: "--loader-ms=30 --launch-ms=70 --device-ms=40 --sync-every=0"},
	{
		name: "copy-pinned", class: transferBound, conf: "gpm=1", planted: "gpu/copies",
		args: "--pin --loader-ms=30 --device-ms=25 --launch-ms=2 --copy-mb=500 --copy=pinned --sync=block",
	},
	{
		name: "ranks-starved", class: inputBound, ranks: 2, conf: "devices=2",
		args: "--loader-ms=120 --device-ms=40 --launch-ms=5 --collective-ms=3 --sync=block",
	},
	{
		// Batches of both ranks vary: each waits in the collective for the other's data as long as it lacks its own.
		name: "ranks-vary", class: inputBound, ranks: 2, conf: "devices=2",
		args: "--loader-ms=90 --vary --device-ms=40 --launch-ms=5 --collective-ms=3 --sync=block",
	},
	{
		// Copies wait in one queue with the kernels, as those of to(device, non_blocking=True) do.
		name: "copy-queue-input", class: inputBound, conf: "gpm=1",
		args: "--pin --loader-ms=90 --launch-ms=2 --device-ms=15 --copy-mb=750 --copy=pinned --sync-every=0",
	},
	{name: "amp-input", class: inputBound, args: "--amp --loader-ms=100 --device-ms=30 --launch-ms=5 --after-ms=3"},
	{
		name: "hdf5-keeps-up", class: gpuBound,
		args: "--load=hdf5 --loader-ms=40 --device-ms=80 --launch-ms=5 --sync-every=20",
	},
	{
		// Data lacks for a seventh of the step: between the two verdicts, but stall and headroom are to be right.
		name: "nearly-keeps-up", class: append(one(report.InputBound), report.GPUBound),
		args: "--loader-ms=60 --device-ms=50 --launch-ms=2",
	},
}
