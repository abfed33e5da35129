//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/pkg/report"
)

// TestSlurm watches jobs on a real Slurm of three nodes: one that runs and holds all CPUs, one that leaves a node idle,
// and one that pipetune starts in a batch script. In each the items of one rank are slow.
func TestSlurm(t *testing.T) {
	m, c := findMachine(t), startCluster(t)
	script := must.Get(filepath.Abs("../../testdata/jobs/one_node_lacks.py"))(t)
	nothing := func(*os.Process) {}

	t.Run("attached", func(t *testing.T) {
		id := c.train(t, 3, m.python, script, "--slow", "1", "--seconds", jobSeconds)
		dry := must.Get(c.command(m.binary, "slurm", id, "--dry-run", "--duration", "12s").Output())(t)
		for _, want := range []string{"srun --jobid=" + id + " ", " --overlap --nodes=3 ", "--ntasks-per-node=1",
			"--duration=12s"} {
			if !strings.Contains(string(dry), want) {
				t.Errorf("%s: no %q", dry, want)
			}
		}
		keep := t.TempDir()
		joined := c.slurm(t, m, nothing, id, "--duration", "12s", "--keep", keep)
		lacks(t, joined, 3, report.Where{Node: "node 1", Rank: "1"})
		if len(joined.Missing.Nodes)+len(joined.Missing.Ranks)+len(joined.LeftOut) > 0 {
			t.Errorf("missing %+v, left out %+v", joined.Missing, joined.LeftOut)
		}
		lacks(t, c.merge(t, m, keep+"/node-*.json"), 3, report.Where{Node: "node 1", Rank: "1"})
		lacks(t, c.interrupted(t, m, id), 3, report.Where{Node: "node 1", Rank: "1"})
	})

	t.Run("a node that never reports", func(t *testing.T) {
		id := c.train(t, 2, m.python, script, "--slow", "0", "--seconds", jobSeconds)
		joined := c.slurm(t, m, nothing, id, "--duration", "12s")
		lacks(t, joined, 2, report.Where{Node: "node 0", Rank: "0"})
		if !strings.Contains(strings.Join(joined.Warnings, " "), "Slurm gave the job 3 nodes") {
			t.Errorf("%q", joined.Warnings)
		}
	})

	t.Run("wrapped in sbatch", func(t *testing.T) {
		out := t.TempDir()
		batch := filepath.Join(out, "batch.sh")
		must.Do(t, os.WriteFile(batch, []byte("#!/bin/sh\nexec srun --nodes=3 --ntasks=3 --cpus-per-task=2 "+m.binary+
			" diagnose --quiet -o '"+out+"/%j-%n.json' -- "+m.python+" "+script+" --slow 2 --seconds 15\n"), 0o755))
		said, err := c.command("sbatch", "--wait", "--nodes=3", "--exclusive", "--output="+out+"/log",
			batch).CombinedOutput()
		if err != nil {
			log, _ := os.ReadFile(out + "/log") // what there is of it
			t.Fatalf("%v: %s%s", err, said, log)
		}
		lacks(t, c.merge(t, m, out+"/*-[012].json"), 3, report.Where{Node: "node 2", Rank: "2"})
	})

	t.Run("no such job", func(t *testing.T) {
		cmd := c.command(m.binary, "slurm", "999999")
		said, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != 3 || !strings.Contains(string(said), "unknown to Slurm: job 999999") {
			t.Errorf("%v: %s", err, said)
		}
	})
}

// train starts a job on all nodes and all of their CPUs, whose tasks run on so many of them, and waits until each of
// these trains. It returns the job's number.
func (c *cluster) train(t *testing.T, nodes int, command ...string) string {
	t.Helper()
	n := strconv.Itoa(nodes)
	log := filepath.Join(t.TempDir(), "log")
	said, err := c.command("salloc", "--nodes=3", "--exclusive", "--no-shell", "--job-name=train").CombinedOutput()
	if err != nil {
		t.Fatalf("salloc: %v: %s", err, said)
	}
	_, after, _ := strings.Cut(string(said), "Granted job allocation ")
	id, _, _ := strings.Cut(after, "\n")
	step := c.command("srun", append([]string{"--jobid=" + id, "--nodes=" + n, "--ntasks=" + n, "--cpus-per-task=2",
		"--output=" + log}, command...)...)
	must.Do(t, step.Start())
	t.Cleanup(func() {
		if said, err := c.command("scancel", id).CombinedOutput(); err != nil {
			t.Errorf("scancel: %v: %s", err, said)
		}
		if err := ended(step.Wait()); err != nil { // it was cancelled
			t.Error(err)
		}
	})
	until(t, "the first batch on each node", func() bool {
		b, err := os.ReadFile(log)
		return err == nil && strings.Count(string(b), "training\n") == nodes
	})
	return id
}

// interrupted runs pipetune slurm for long, asks it to end after some seconds, and returns what the nodes had seen by
// then.
func (c *cluster) interrupted(t *testing.T, m machine, id string) *report.Merged {
	t.Helper()
	const long = "17m0s"
	return c.slurm(t, m, func(slurm *os.Process) {
		until(t, "three that watch", func() bool {
			return len(mentioning(t, "diagnose\x00--quiet\x00--format=json\x00--duration="+long)) >= 3
		})
		time.Sleep(15 * time.Second)
		must.Do(t, slurm.Signal(os.Interrupt))
	}, "--duration", long, id)
}

// slurm runs pipetune slurm while something else is done, and returns what it joined.
func (c *cluster) slurm(t *testing.T, m machine, meanwhile func(*os.Process), args ...string) *report.Merged {
	t.Helper()
	cmd := c.command(m.binary, append([]string{"slurm", "--format", "json"}, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	must.Do(t, cmd.Start())
	meanwhile(cmd.Process)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	t.Logf("pipetune slurm said: %s", stderr.String())
	return decodeMerged(t, stdout.Bytes())
}

// merge joins the reports of files.
func (c *cluster) merge(t *testing.T, m machine, pattern string) *report.Merged {
	t.Helper()
	files := must.Get(filepath.Glob(pattern))(t)
	return decodeMerged(t, outputOf(t, m.binary, append([]string{"merge", "--format", "json"}, files...)...))
}

func decodeMerged(t *testing.T, b []byte) *report.Merged {
	t.Helper()
	var m report.Merged
	must.Do(t, json.Unmarshal(b, &m))
	must.Do(t, m.Validate())
	return &m
}

// lacks holds that so many nodes were joined, of which one rank lacks data.
func lacks(t *testing.T, m *report.Merged, nodes int, where report.Where) {
	t.Helper()
	if len(m.Nodes) != nodes || m.StragglersN != 1 || m.Stragglers[0].Where != where {
		t.Errorf("%d nodes, stragglers %+v, left out %+v; want %d and %+v", len(m.Nodes), m.Stragglers, m.LeftOut,
			nodes, where)
	}
}
