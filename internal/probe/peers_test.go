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
)

// leastOfFio is what of fio's rate direct reads must reach, as the median of ratios in turn.
const leastOfFio = 0.98

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
				sample := rawBytes(block, path)
				s := newSession(newRunner(t), sample, Options{})
				p := s.process(nil, takes)
				defer p.close()
				must.Get(p.begin(t.Context(), begin(s.clock, takes)))(t)
				var ratios, ours, theirs []float64
				for i := range rounds {
					got := must.Get(directWork.ask(t.Context(), p, direct{Files: []int{0}, Block: block, Depth: depth, Seed: uint64(i), Seconds: takes.Seconds()}))(t)
					ours = append(ours, rateOf(got.Slices, readsOf).Center)
					theirs = append(theirs, fioRate(t, path, block, depth, takes))
					ratios = append(ratios, ours[i]/theirs[i])
				}
				for _, list := range [][]float64{ratios, ours, theirs} {
					slices.Sort(list)
				}
				t.Logf("%.0f reads/s beside fio's %.0f: %.3f (%.3f to %.3f)", ours[rounds/2], theirs[rounds/2], ratios[rounds/2], ratios[0], ratios[rounds-1])
				if ratios[rounds/2] < leastOfFio {
					t.Errorf("%.3f of fio's rate, the median of %d rounds; %.2f is promised", ratios[rounds/2], rounds, leastOfFio)
				}
			})
		}
	}
}

// fioRate is the rate of fio's random direct reads through libaio, per second.
func fioRate(t *testing.T, path string, block int64, depth int, takes time.Duration) float64 {
	t.Helper()
	out, err := exec.Command("fio", "--name=x", "--filename="+path, "--readonly", "--rw=randread", "--ioengine=libaio", "--direct=1",
		"--bs="+strconv.FormatInt(block, 10), "--iodepth="+strconv.Itoa(depth), "--time_based",
		"--runtime="+strconv.FormatFloat(takes.Seconds(), 'f', -1, 64), "--randrepeat=0", "--norandommap", "--output-format=json").Output()
	if err != nil {
		t.Fatalf("fio (apt-get install -y fio): %v", err)
	}
	var answer struct {
		Jobs []struct{ Read struct{ IOPS float64 } }
	}
	if err := json.Unmarshal(out, &answer); err != nil || len(answer.Jobs) != 1 || answer.Jobs[0].Read.IOPS <= 0 {
		t.Fatalf("fio: %v: %s", err, out)
	}
	return answer.Jobs[0].Read.IOPS
}
