package job

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/recording"
)

func TestPlaceOf(t *testing.T) {
	for name, c := range map[string]struct {
		env  map[string]string
		want recording.Place
	}{
		"alone": {map[string]string{"HOME": "/root"}, recording.Place{}},
		"srun": {map[string]string{"SLURM_JOB_ID": "4711", "SLURM_STEP_ID": "0", "SLURM_NODEID": "2",
			"SLURM_STEP_NUM_NODES": "3", "SLURM_PROCID": "5", "SLURM_STEP_NUM_TASKS": "6"},
			recording.Place{JobID: "4711", Step: "0", NodeRank: new(2), Nodes: new(3), WorldSize: new(6)}},
		"torchrun in srun": {map[string]string{"SLURM_JOB_ID": "4711", "SLURM_STEP_ID": "0", "SLURM_NODEID": "2",
			"SLURM_STEP_NUM_NODES": "3", "SLURM_STEP_NUM_TASKS": "3", "GROUP_RANK": "1", "GROUP_WORLD_SIZE": "3",
			"WORLD_SIZE": "24", "RANK": "9", "TORCHELASTIC_RUN_ID": "none"},
			recording.Place{JobID: "4711", Step: "0", NodeRank: new(1), Nodes: new(3), WorldSize: new(24)}},
		"torchrun with an id": {map[string]string{"TORCHELASTIC_RUN_ID": "exp7", "GROUP_RANK": "0",
			"GROUP_WORLD_SIZE": "2", "WORLD_SIZE": "2"},
			recording.Place{JobID: "exp7", NodeRank: new(0), Nodes: new(2), WorldSize: new(2)}},
		"torchrun without": {map[string]string{"TORCHELASTIC_RUN_ID": "none", "WORLD_SIZE": "2"},
			recording.Place{WorldSize: new(2)}},
		"Kubeflow, elastic": {map[string]string{"PET_NODE_RANK": "3", "PET_NNODES": "2:4"},
			recording.Place{NodeRank: new(3)}},
		"Kubernetes": {map[string]string{"JOB_COMPLETION_INDEX": "1"}, recording.Place{NodeRank: new(1)}},
		"mpirun": {map[string]string{"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4"},
			recording.Place{WorldSize: new(4)}},
		"what is no number": {map[string]string{"GROUP_RANK": "-1", "WORLD_SIZE": "99999999999", "SLURM_NODEID": "x"},
			recording.Place{}},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(c.want, PlaceOf(func(name string) string { return c.env[name] })); d != "" {
				t.Error(d)
			}
		})
	}
	for want, env := range map[int]map[string]string{-1: {}, 3: {"RANK": "3", "OMPI_COMM_WORLD_RANK": "1",
		"SLURM_PROCID": "0"},
		1: {"OMPI_COMM_WORLD_RANK": "1", "SLURM_PROCID": "0"}, 0: {"SLURM_PROCID": "0"}} {
		if got := rankOf(env); got != want {
			t.Errorf("%v: %d", env, got)
		}
	}
}

// Where the trainers stood is known still when they have ended.
func TestPlaceOutlivesTheTrainers(t *testing.T) {
	m := newMachine(t, shell(10, 1), ranked(trainer(100, 10), "RANK=1", "GROUP_RANK=1", "GROUP_WORLD_SIZE=2",
		"WORLD_SIZE=2"))
	j, s := attached(t, m, 100)
	m.death(100)
	j.Refresh(context.Background(), time.Second, s)
	j.Refresh(context.Background(), time.Minute, s)
	if p := j.Header().Place; len(j.Tree().Trainers()) > 0 || p == nil || *p.NodeRank != 1 || *p.WorldSize != 2 {
		t.Errorf("%+v", p)
	}
}

// Within a Slurm job, only the trainers of that job on this node are looked for, where there are any.
func TestFindWithinSlurm(t *testing.T) {
	m := newMachine(t, shell(10, 1), ranked(trainer(100, 10), "SLURM_JOB_ID=4", "SLURMD_NODENAME=node1"), shell(20, 1),
		ranked(trainer(200, 20), "SLURM_JOB_ID=4", "SLURMD_NODENAME=node2"))
	for key, want := range map[string][]int{"": {100, 200}, "4@node1": {100}, "4@node2": {200}, "5@node1": {100, 200}} {
		var got []int
		for _, c := range must.Get(Find(context.Background(), Options{FS: m.fs(), Slurm: key}))(t) {
			got = append(got, c.Trainer.PID)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", key, got, want)
		}
	}
}
