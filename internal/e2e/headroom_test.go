//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"testing"
)

// freeError is how far the measured rate with data for free may be from that of the same loop over batches in memory.
const freeError = 0.05

// TestHeadroom has loops on the stand-in GPU handed their last batches again, and holds the rate against that of the
// same loop with its data in memory. E2E_DEVICE='regexp' selects loops.
func TestHeadroom(t *testing.T) {
	m, loops := findMachine(t), selected("E2E_DEVICE", deviceLoops)
	if len(loops) == 0 {
		t.Fatalf("no loop is called so: E2E_DEVICE=%s", os.Getenv("E2E_DEVICE"))
	}
	for _, loop := range loops {
		if m.ctx.Err() == nil {
			t.Run(loop.name, func(t *testing.T) { m.holdHeadroom(t, loop) })
		}
	}
}

func (m machine) holdHeadroom(t *testing.T, loop deviceLoop) {
	s := newDeviceStand(t, m, loop)
	free := s.measureFree(t)
	defer s.withNeighbour(t)()
	how := []string{"--headroom", "--duration", "12s", "--"}
	s.pipetune(t, "headroom", append(how, s.command("120", s.loop.jobArgs())...)...)
	r := deviceRow{loop: loop, how: "launched"}
	s.read(t, &r, "headroom", "headroom-truth.json")
	rate, ok := r.rep.Metrics["free_batches_per_s"]
	if !ok {
		t.Fatalf("no rate was measured: %q", r.rep.Warnings)
	}
	// Between evaluations; the truth is of all the time.
	truth := free.Rate / (1 - free.Outside)
	step := r.rep.Verdict.Step
	off := rate.Center/truth - 1
	fmt.Printf("%-26s free %7.2f /s measured (%.2f to %.2f), %7.2f in memory, %+5.1f %%; headroom %s measured, %s "+
		"estimated\n", loop.name,
		rate.Center, rate.Lo, rate.Hi, truth, 100*off, between(step.HeadroomMeasured), between(step.Headroom))
	if off < -freeError || off > freeError {
		t.Errorf("%.2f batches/s measured, %.2f with data in memory", rate.Center, truth)
	}
}
