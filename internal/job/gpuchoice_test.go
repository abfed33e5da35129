package job

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/procfs"
)

// TestGPUChoiceOfATrainer reads what the environment says of GPUs, and whether an index in it means the same here.
func TestGPUChoiceOfATrainer(t *testing.T) {
	for name, c := range map[string]struct {
		env        []string
		theirs     string // control group of the job
		namespace  string // its mounts
		wantChoice GPUChoice
	}{
		"here": {[]string{"CUDA_VISIBLE_DEVICES=1", "CUDA_DEVICE_ORDER=PCI_BUS_ID"}, "0::/a\n", "mnt:[1]",
			GPUChoice{Read: true, Set: true, Visible: "1", Order: "PCI_BUS_ID", SameView: true}},
		"none": {[]string{"CUDA_VISIBLE_DEVICES="}, "0::/a\n", "mnt:[1]", GPUChoice{Read: true, Set: true,
			SameView: true}},
		"not said": {[]string{"RANK=0"}, "0::/a\n", "mnt:[1]", GPUChoice{Read: true, SameView: true}},
		"a step of Slurm": {[]string{"CUDA_VISIBLE_DEVICES=0"}, "0::/job/step_0\n", "mnt:[1]",
			GPUChoice{Read: true, Set: true, Visible: "0"}},
		"another container": {[]string{"CUDA_VISIBLE_DEVICES=0"}, "0::/a\n", "mnt:[2]", GPUChoice{Read: true, Set: true,
			Visible: "0"}},
	} {
		m := newMachine(t, proc{pid: 1, exe: "/sbin/init"}, proc{pid: 10, ppid: 1, exe: python,
			argv: []string{"python3", "train.py"}, env: c.env, maps: []string{torchLib}})
		for dir, at := range map[string][2]string{"self": {"0::/a\n", "mnt:[1]"}, "10": {c.theirs, c.namespace}} {
			m.Put("proc/"+dir+"/cgroup", at[0])
			m.Link("proc/"+dir+"/ns/mnt", at[1])
		}
		j := must.Get(Attach(t.Context(), 10, Options{FS: m.fs()}))(t)
		p, ok := j.Tree().Find(procfs.ID{PID: 10, Start: 1010})
		j.Close()
		if diff := cmp.Diff(c.wantChoice, p.GPUs); diff != "" || !ok {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
