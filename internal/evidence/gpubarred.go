package evidence

import (
	"slices"

	"github.com/pipetune/pipetune/internal/recording"
)

// cureMatch is how the GPUs of a job are known for certain.
const cureMatch = "run pipetune on the host, or in a container started with --pid=host"

// barred tells whether the job's environment kept it off a GPU when it started.
func (b *builder) barred(gpu string) bool {
	return slices.ContainsFunc(b.rec.Header.Host.GPUs, func(g recording.GPU) bool { return g.Barred && "gpu/"+g.UUID == gpu })
}

// byEnvironment leaves out of the GPUs in use those that the job's environment kept it from when it started, where no list of processes tells whose
// they are. why is not empty where that leaves none: then the job's code chose others, or uses none.
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
	b.warn("which GPUs are the job's is taken from CUDA_VISIBLE_DEVICES as it was at the job's start; where its code chooses others later, that is not seen")
	return job, ""
}

// gpuName is the model of the job's first GPU, or of the machine's first where nothing was read of any; "" where the job has none, or others than
// it was given.
func (b *builder) gpuName() string {
	gpus := b.rec.Header.Host.GPUs
	if b.gpus.none || len(gpus) == 0 {
		return ""
	}
	if i := slices.IndexFunc(gpus, func(g recording.GPU) bool { return g.OfJob }); i >= 0 {
		return gpus[i].Name
	}
	if i := slices.IndexFunc(gpus, func(g recording.GPU) bool { return b.gpus.first == "gpu/"+g.UUID }); i >= 0 {
		return gpus[i].Name
	}
	if b.gpus.why != "" {
		return ""
	}
	return gpus[0].Name
}
