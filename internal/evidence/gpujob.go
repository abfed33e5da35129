package evidence

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
)

// gpuShare is which GPUs are the job's, and what may be said of them.
type gpuShare struct {
	job     []string     // those taken for the job's, as entities, in order; none where that is unknown
	basis   metric.Basis // of their figures: measured where the driver says whose they are
	none    bool         // no process of the job was on any of the GPUs: there is no device for a step to be on
	why     Reason       // why GPUs were watched and their figures tell nothing; "" where they do, or where none was
	unknown bool         // so, and not even their number is known
}

// offGPU is why figures of GPUs are missing where others use them, and the job does not.
const offGPU = "no process of the job is on a GPU"

// cureMatch is how the GPUs of a job are known for certain.
const cureMatch = "run pipetune on the host, or in a container started with --pid=host"

// idleMemory is the share of a GPU's memory below which it is taken to hold no process's context: the driver itself
// keeps some hundred megabytes of a large card.
const idleMemory = 0.02

// findGPUs finds the GPUs of the job. Where it is not known which those are, it takes those in use if there is one, or
// one for each trainer, and else none: one GPU at work among eight would pass for eight that are hardly busy.
func (b *builder) findGPUs() {
	all, g := b.visibleGPUs(), &b.gpus
	var matched bool
	if g.job, matched = b.jobGPUs(all); !matched {
		if g.job, g.why.Text = b.byEnvironment(all, g.job); g.why.Text != "" {
			g.why.Cure, g.unknown = cureMatch, true
			return
		}
	}
	if g.none = len(all) > 0 && len(g.job) == 0; g.none {
		g.why.Text = offGPU
	}
	if len(g.job) == 0 {
		return
	}
	if g.basis = metric.Inferred; matched {
		g.basis = metric.Measured
	}
	if n := len(g.job); !matched && n > 1 && n != len(b.ranks) && !b.unused(g.job[0]) {
		g.why = Reason{fmt.Sprintf("which of the %d GPUs in use here are the job's is not known, and a mean over all "+
			"would be of others too", n), cureMatch}
		return
	}
	b.shareOut(g.job, matched)
	for _, e := range g.job {
		if slices.Contains(b.Track(metric.GPULost, e).Within(b.Steady), 1) {
			b.warn("%s was lost during the watch: its figures end there", e)
		}
	}
}

// shareOut gives each trainer its own GPUs: those whose list of processes held one of its own. Where that is known of
// none, all trainers have all of the job's. GPUs that nobody used in the watch, and that are not known to be the job's,
// say nothing of it.
func (b *builder) shareOut(job []string, matched bool) {
	used := map[string][]string{}
	for _, e := range b.Rec.Events {
		if gpu := "gpu/" + e.Attrs["gpu"]; e.Kind == recording.EventGPUProcess && slices.Contains(job, gpu) {
			used[e.Entity] = append(used[e.Entity], gpu)
		}
	}
	for _, r := range b.ranks {
		r.gpus = job
		if own := used[r.Entity]; len(own) > 0 {
			r.gpus = own
		}
		busy := b.busyOf(r.gpus)
		if s := b.mean(busy); s.N > 0 && (matched || s.Center > 0) {
			r.busy = busy
		}
	}
}

// described is what the header says of a GPU, by its entity; the zero GPU where it says nothing.
func (b *builder) described(gpu string) (of recording.GPU) {
	for _, g := range b.Rec.Header.Host.GPUs {
		if "gpu/"+g.UUID == gpu {
			return g
		}
	}
	return of
}

// visibleGPUs returns all GPUs that anything was read of, in order.
func (b *builder) visibleGPUs() (all []string) {
	for _, d := range metric.GPU {
		for _, t := range b.Tracks(d) {
			if strings.HasPrefix(t.Entity, "gpu/") && !slices.Contains(all, t.Entity) {
				all = append(all, t.Entity)
			}
		}
	}
	slices.Sort(all)
	return all
}

// unlisted reports whether a GPU's list of processes could not be had, or not be believed, at some time of the watch.
func (b *builder) unlisted(gpu string) bool {
	return slices.ContainsFunc(b.Rec.Unseen,
		func(u recording.Unseen) bool { return u.Signal == metric.GPUJobMemory.Name && u.Entity == gpu })
}

// jobGPUs returns the GPUs of the job, none where each GPU's list of processes was read and never held one of the job;
// matched is false where neither is known, and those that somebody used are returned, or all where nobody did. A GPU
// that the job was on at any time of the watch is its own.
func (b *builder) jobGPUs(all []string) (entities []string, matched bool) {
	listed := 0
	for _, e := range all {
		held := b.Track(metric.GPUJobMemory, e)
		if held != nil && slices.Max(held.V) > 0 || b.described(e).OfJob {
			entities = append(entities, e)
		}
		if held != nil && !b.unlisted(e) {
			listed++
		}
	}
	if len(entities) > 0 || listed == len(all) {
		return entities, true
	}
	if used := slices.DeleteFunc(slices.Clone(all), b.unused); len(used) > 0 {
		return used, false
	}
	return all, false
}

// unused reports whether nobody was on a GPU in the window: never busy, its memory as good as empty.
func (b *builder) unused(gpu string) bool {
	busy := b.Track(metric.GPUUtil, gpu).Within(b.Steady)
	held := b.Track(metric.GPUMemUsed, gpu).Within(b.Steady)
	return len(busy) > 0 && len(held) > 0 && slices.Max(busy) == 0 && slices.Max(held) < idleMemory*b.gpuMemoryOf(gpu)
}

// barred reports whether the job's environment kept it off a GPU when it started.
func (b *builder) barred(gpu string) bool { return b.described(gpu).Barred }

// byEnvironment leaves out of the GPUs in use those that the job's environment kept it from when it started, where no
// list of processes tells whose they are. why is not empty where that leaves none: then the job's code chose others, or
// uses none.
func (b *builder) byEnvironment(all, used []string) (job []string, why string) {
	open := slices.DeleteFunc(slices.Clone(all), b.barred)
	job = slices.DeleteFunc(slices.Clone(used), b.barred)
	switch {
	case len(open) == len(all):
		return used, ""
	case len(open) == 0:
		return nil, "CUDA_VISIBLE_DEVICES keeps the job off every GPU here"
	case len(job) == 0:
		return nil, "the GPUs in use here are not those that CUDA_VISIBLE_DEVICES gave the job at its start"
	}
	b.warn("which GPUs are the job's is taken from CUDA_VISIBLE_DEVICES as it was at the job's start; where its code " +
		"chooses others later, that is not seen")
	return job, ""
}

// gpuName is the model of the job's first GPU, or of the machine's first where nothing was read of any; "" where the
// job has none, or others than it was given.
func (b *builder) gpuName() string {
	gpus := b.Rec.Header.Host.GPUs
	of := slices.IndexFunc(gpus, func(g recording.GPU) bool { return g.OfJob })
	if of < 0 {
		of = slices.IndexFunc(gpus, func(g recording.GPU) bool {
			return len(b.gpus.job) > 0 && b.gpus.job[0] == "gpu/"+g.UUID
		})
	}
	if b.gpus.none || len(gpus) == 0 || of < 0 && b.gpus.why.Text != "" {
		return ""
	}
	return gpus[max(of, 0)].Name
}

// gpuWhyNot says why no GPU was watched.
func (b *builder) gpuWhyNot() string {
	if b.gpus.why.Text != "" {
		return b.gpus.why.Text
	}
	for _, u := range b.Rec.Unseen {
		if u.Signal == "gpu_*" || strings.HasPrefix(u.Signal, "gpu_utilization") {
			return u.Reason
		}
	}
	for _, e := range b.Rec.Events {
		if e.Kind == recording.EventGPU && e.Attrs["state"] == "lost" {
			return "the GPU was lost before the steady window"
		}
	}
	return "no GPU was watched"
}
