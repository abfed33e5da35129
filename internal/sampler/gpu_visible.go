package sampler

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/nvml"
)

// visibleGPUs returns the UUIDs of the GPUs that CUDA shows a process by its environment, none where it hides all;
// false where the environment does not say, or not for certain. The list ends at its first identifier that is not valid
// (CUDA Programming Guide, "CUDA_VISIBLE_DEVICES").
func visibleGPUs(c job.GPUChoice, gpus []nvml.Device) (uuids []string, certain bool) {
	if !c.Read || !c.Set {
		return nil, false
	}
	for id := range strings.SplitSeq(c.Visible, ",") {
		uuid, valid, certain := gpuOf(strings.TrimSpace(id), c, gpus)
		if !certain || slices.Contains(uuids, uuid) { // what CUDA makes of one named twice is not documented
			return nil, false
		}
		if !valid {
			break
		}
		uuids = append(uuids, uuid)
	}
	return uuids, true
}

// gpuOf resolves one identifier: an index, the beginning of a UUID, or a MIG instance. What is neither ends the list.
// An identifier that may be valid, and means no GPU that NVML shows here, is not certain.
func gpuOf(id string, c job.GPUChoice, gpus []nvml.Device) (uuid string, valid, certain bool) {
	if n, err := strconv.Atoi(id); err == nil {
		if n < 0 {
			return "", false, true
		}
		ordered, ok := cudaOrder(c, gpus)
		if !ok || n >= len(ordered) || ordered[n].UUID == "" {
			return "", false, false
		}
		return ordered[n].UUID, true, true
	}
	if parent, ok := strings.CutPrefix(id, "MIG-GPU-"); ok {
		// MIG-GPU-<UUID>/<GPU instance>/<compute instance>, before driver 470
		parent, _, _ = strings.Cut(parent, "/")
		id = "GPU-" + parent
	}
	switch {
	case strings.HasPrefix(id, "GPU-") && len(id) > len("GPU-"), strings.HasPrefix(id, "MIG-") && len(id) > len("MIG-"):
		var found []string
		for _, g := range gpus {
			if strings.HasPrefix(strings.ToLower(g.UUID), strings.ToLower(id)) {
				found = append(found, g.UUID)
			}
		}
		if len(found) != 1 {
			return "", false, false
		}
		return found[0], true, true
	case id == "", id == "NoDevFiles": // the latter is what Slurm sets for a job without GPUs
		return "", false, true
	}
	return "", false, false // what else there may be is not guessed at
}

// cudaOrder returns the GPUs in the order of CUDA's indices; false where that is not certain. By default CUDA takes the
// fastest GPU first, so the order is that of the PCI bus only where it is asked for or all are of one model. A GPU that
// is cut into MIG instances is not counted as one, and a process that is kept from some GPUs counts the others.
func cudaOrder(c job.GPUChoice, gpus []nvml.Device) ([]nvml.Device, bool) {
	if !c.SameView {
		return nil, false
	}
	ordered := slices.Clone(gpus)
	for _, g := range ordered {
		if g.PCI == "" || g.Lost || g.MIG != nil && *g.MIG || c.Order != "PCI_BUS_ID" && g.Name != ordered[0].Name {
			return nil, false
		}
	}
	slices.SortFunc(ordered, func(a, b nvml.Device) int { return strings.Compare(a.PCI, b.PCI) })
	return ordered, true
}

// allowance is the GPUs that a process may use, where that is certain.
type allowance struct {
	uuids   []string
	certain bool
}

// barred reports whether the environment of every process that was on a GPU, or may have been, at any time of the watch
// kept it off this one.
func (g *GPU) barred(uuid string) bool {
	for _, a := range g.mayUse {
		if !a.certain || slices.Contains(a.uuids, uuid) {
			return false
		}
	}
	return len(g.mayUse) > 0
}
