//go:build e2e

package e2e

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/pkg/report"
)

// TestDeviceDrawn watches loops that nobody chose: their parts are drawn by chance. E2E_DRAWN=20 says how many (else
// one), E2E_SEED the first one's number; E2E_DEVICE_HOW and E2E_KEEP as for TestDevice. What class is right follows
// from the loop's own timeline.
func TestDeviceDrawn(t *testing.T) {
	wanted, seed := environmentNumber(t, "E2E_DRAWN", "1"), environmentNumber(t, "E2E_SEED", "1")
	var loops []deviceLoop
	for i := range wanted {
		loops = append(loops, drawLoop(seed+i))
	}
	findMachine(t).watchLoops(t, loops)
}

// environmentNumber is what an environment variable holds, or what it is when unset.
func environmentNumber(t *testing.T, name, unset string) uint64 {
	t.Helper()
	return must.Get(strconv.ParseUint(cmp.Or(os.Getenv(name), unset), 10, 64))(t)
}

// drawLoop is the loop of a number. Its times spread over a decade, and its CPU time is kept below what two CPUs have.
func drawLoop(number uint64) deviceLoop {
	r := rand.New(rand.NewPCG(number, 1))
	ms := func(lo, hi float64) float64 { return math.Round(lo * math.Pow(hi/lo, r.Float64())) }
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	device, launch, loader := ms(10, 100), ms(2, 30), ms(15, 150)
	load, sync := pick("sleep", "sleep", "cpu", "native", "file", "hdf5"), pick("spin", "yield", "block")
	workers, every := r.IntN(5), pick("1", "1", "0", "5", "20")
	args := []string{
		"--load=" + load, fmt.Sprintf("--workers=%d", workers), "--sync=" + sync, "--sync-every=" + every,
		fmt.Sprintf("--device-ms=%g", device), fmt.Sprintf("--launch-ms=%g", launch), fmt.Sprintf("--kernels=%g",
			ms(2, 40)),
	}
	if load == "cpu" || load == "native" {
		workers = min(workers, 1) // a second one finds no CPU beside a main thread that spins
		args[1] = fmt.Sprintf("--workers=%d", workers)
	}
	args = append(args, fmt.Sprintf("--loader-ms=%g", loader*math.Max(float64(workers), 1)))
	for _, option := range []struct {
		chance float64
		arg    string
	}{
		{0.3, "--pin"}, {0.3, "--vary"}, {0.2, "--amp"}, {0.2, fmt.Sprintf("--after-ms=%g", ms(2, 40))},
		{0.15, fmt.Sprintf("--backward-ms=%g", ms(5, 40))}, {0.2, fmt.Sprintf("--prefetch=%d", 1+r.IntN(6))},
		{0.15, fmt.Sprintf("--epoch-steps=%g --eval-steps=%g", ms(40, 200), ms(5, 30))},
		{0.15, fmt.Sprintf("--copy=%s --copy-mb=%g", pick("pageable", "pinned", "beside"), ms(10, 200))},
	} {
		if r.Float64() < option.chance {
			args = append(args, option.arg)
		}
	}
	loop := deviceLoop{name: fmt.Sprintf("drawn-%d", number), args: strings.Join(args, " ")}
	if r.Float64() < 0.5 {
		loop.conf = "gpm=1"
	}
	if r.Float64() < 0.5 && strings.Contains(loop.args, "--epoch-steps") {
		loop.args += " --restart"
	}
	return loop
}

// trueClasses are the classes that a timeline allows: near a line, those on both sides of it.
func trueClasses(t deviceTruth) (classes []report.Class) {
	const moderate, high, busyDevice, near = 0.05, 0.20, 0.85, 0.03
	busy, other := t.Busy+t.Comm, t.Idle
	if t.Starved >= moderate-near {
		classes = append(classes, report.InputBound)
	}
	if t.Starved >= high+near {
		return classes
	}
	if busy >= busyDevice-near-t.Starved {
		classes = append(classes, report.GPUBound)
	}
	if busy < busyDevice+near {
		classes = append(classes, report.Balanced)
		if other >= high-near {
			classes = append(classes, report.HostBound)
		}
		if t.IdleCopy >= high-near {
			classes = append(classes, report.TransferBound)
		}
	}
	return classes
}
