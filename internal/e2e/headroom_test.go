//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
)

// freeError is how far the measured rate with data for free may be from that of the same loop over batches in memory.
const freeError = 0.05

// TestHeadroom has loops on the stand-in GPU handed their last batches again, and holds the rate against that of the
// same loop with its data in memory. E2E_DEVICE='regexp' selects loops.
func TestHeadroom(t *testing.T) {
	m, ctx, loops := findMachine(t), interruptible(t), selected("E2E_DEVICE", deviceLoops)
	if len(loops) == 0 {
		t.Fatalf("no loop is called so: E2E_DEVICE=%s", os.Getenv("E2E_DEVICE"))
	}
	for _, loop := range loops {
		if ctx.Err() != nil {
			return
		}
		if err := m.headroomOf(ctx, loop); err != nil {
			t.Errorf("%s: %v", loop.name, err)
		}
	}
}

func (m machine) headroomOf(ctx context.Context, loop deviceLoop) (err error) {
	s, err := newDeviceStand(m, loop)
	defer func() { err = errors.Join(err, s.remove()) }()
	if err != nil {
		return err
	}
	free, err := s.measureFree(ctx)
	if err != nil {
		return fmt.Errorf("with data for free: %w", err)
	}
	stopNeighbour, err := s.withNeighbour(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopNeighbour()) }()
	how := []string{"--headroom", "--duration", "12s", "--"}
	if _, err := s.pipetune(ctx, "headroom", append(how, s.command("120", s.loop.jobArgs())...)...); err != nil {
		return err
	}
	r := deviceRow{loop: loop, how: "launched"}
	if err := s.read(&r, "headroom", "headroom-truth.json"); err != nil {
		return err
	}
	rate, ok := r.rep.Metrics["free_batches_per_s"]
	if !ok {
		return fmt.Errorf("no rate was measured: %q", r.rep.Warnings)
	}
	// Between evaluations; the truth is of all the time.
	truth := free.Rate / (1 - free.Outside)
	step := r.rep.Verdict.Step
	off := rate.Center/truth - 1
	fmt.Printf("%-26s free %7.2f /s measured (%.2f to %.2f), %7.2f in memory, %+5.1f %%; headroom %s measured, %s "+
		"estimated\n", loop.name,
		rate.Center, rate.Lo, rate.Hi, truth, 100*off, between(step.HeadroomMeasured), between(step.Headroom))
	if off < -freeError || off > freeError {
		return fmt.Errorf("%.2f batches/s measured, %.2f with data in memory", rate.Center, truth)
	}
	return nil
}
