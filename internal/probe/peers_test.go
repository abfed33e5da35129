//go:build peers

package probe

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/storage"
)

// What direct reads must reach of fio's rate, and the most that each may take of fio's CPU time, as medians of ratios
// in turn. CPU time tells on a busy machine too, where rates are those of who was let run.
const (
	leastOfFio = 0.98
	mostOfFio  = 1.2
)

// Direct reads of one block size at one depth keep up with fio's, on the same file and in turn. What bench-io reports
// stops at the depth that brings nothing more; here each depth is read, whatever it brings.
func TestDirectReadsKeepUpWithFio(t *testing.T) {
	const rounds, takes = 15, time.Second // many short turns: what else the machine does changes within seconds
	dir := must.Get(os.MkdirTemp("/var/tmp", "pipetune-peers-"))(t)
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "data")
	written(t, path, 512<<20)
	for _, block := range []int64{4 << 10, 128 << 10} {
		for _, depth := range []int{1, 4, 16, 32} {
			t.Run(fmt.Sprintf("%d KiB, depth %d", block>>10, depth), func(t *testing.T) {
				var rates, costs, ours, theirs []float64
				for i := range rounds {
					rate, cost := ownReads(t, path, storage.Request{Files: []int{0}, Block: block, Depth: depth,
						Seed: uint64(i), Seconds: takes.Seconds()})
					fioRate, fioCost := fioReads(t, path, block, depth, takes)
					ours, theirs = append(ours, rate), append(theirs, fioRate)
					rates, costs = append(rates, rate/fioRate), append(costs, cost/fioCost)
				}
				for _, list := range [][]float64{rates, costs, ours, theirs} {
					slices.Sort(list)
				}
				rate, cost := rates[rounds/2], costs[rounds/2]
				t.Logf("%.0f reads/s beside fio's %.0f: %.3f (%.3f to %.3f); CPU time of a read %.3f of fio's",
					ours[rounds/2], theirs[rounds/2], rate, rates[0], rates[rounds-1], cost)
				if rate < leastOfFio || cost > mostOfFio {
					t.Errorf("%.3f of fio's rate and %.3f of its CPU time, medians of %d rounds; %.2f and %.2f are "+
						"promised", rate, cost, rounds, leastOfFio, mostOfFio)
				}
			})
		}
	}
}

// ownReads is the rate of direct reads in a worker process, per second, and the CPU seconds that one takes.
func ownReads(t *testing.T, path string, q storage.Request) (rate, cost float64) {
	t.Helper()
	s := newSession(newRunner(t), rawBytes(q.Block, path), Options{})
	p := s.process(&s.sample, time.Second)
	defer p.close()
	must.Get(p.begin(t.Context(), begin(s.clock, time.Second)))(t)
	before := cpuOf(t, p.pid)
	got := must.Get(directWork.ask(t.Context(), p, q))(t)
	reads := 0
	for _, s := range got.Slices {
		reads += s.Reads
	}
	all := float64(reads) * float64(len(got.Slices)+1) / float64(len(got.Slices)) // with the first, a warm-up
	return rateOf(got.Slices, readsOf).Center, (cpuOf(t, p.pid) - before) / all
}

// cpuOf is the CPU seconds that a process has used.
func cpuOf(t *testing.T, pid int) float64 {
	t.Helper()
	p := must.Get(procfs.FS{}.Open(pid))(t)
	defer p.Close()
	var stat procfs.Stat
	must.Do(t, p.Stat(&stat))
	return stat.UserSeconds + stat.SystemSeconds
}

// fioReads is that of fio, through libaio.
func fioReads(t *testing.T, path string, block int64, depth int, takes time.Duration) (rate, cost float64) {
	t.Helper()
	out, err := exec.Command("fio", "--name=x", "--filename="+path, "--readonly", "--rw=randread", "--ioengine=libaio",
		"--direct=1", "--bs="+strconv.FormatInt(block, 10), "--iodepth="+strconv.Itoa(depth), "--time_based",
		"--runtime="+strconv.FormatFloat(takes.Seconds(), 'f', -1, 64), "--randrepeat=0", "--norandommap",
		"--output-format=json").Output()
	if err != nil {
		t.Fatalf("fio (apt-get install -y fio): %v", err)
	}
	var answer struct {
		Jobs []struct {
			User   float64 `json:"usr_cpu"` // percent
			System float64 `json:"sys_cpu"`
			Read   struct {
				IOPS    float64
				Total   float64 `json:"total_ios"`
				Runtime float64 // milliseconds
			}
		}
	}
	if err := json.Unmarshal(out, &answer); err != nil || len(answer.Jobs) != 1 || answer.Jobs[0].Read.Total <= 0 {
		t.Fatalf("fio: %v: %s", err, out)
	}
	job := answer.Jobs[0]
	return job.Read.IOPS, (job.User + job.System) / 100 * job.Read.Runtime / 1000 / job.Read.Total
}
