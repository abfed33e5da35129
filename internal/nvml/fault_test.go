package nvml

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
)

func TestGarbage(t *testing.T) {
	for _, tc := range []struct {
		what   string
		signal metric.Desc
		words  string
	}{
		{"uses\nuse 7 5", metric.GPUOthersUtil, "4000000000 uses"},
		{"processes", metric.GPUJobMemory, "4000000000 processes"},
		{"processes-insufficient", metric.GPUJobMemory, "4000000000 processes"},
		{"samples", metric.GPUUtil, "4000000000 samples"},
		{"utilization", metric.GPUUtil, "4.294967295e+09 %"},
		{"memory", metric.GPUMemUsed, "of 0 bytes"},
		{"power", metric.GPUPower, "4294967295"},
	} {
		t.Run(tc.what, func(t *testing.T) {
			c := driver(t, "garbage "+tc.what+"\n")
			_, reading := mustTake(t, c, 1)
			d := reading.Devices[0]
			for _, activity := range ActivitySignals { // which this fake has not
				delete(d.Absent, activity.Name)
			}
			for signal, why := range d.Absent {
				if !strings.Contains(why, tc.words) {
					t.Errorf("%s is absent: %s", signal, why)
				}
			}
			if d.Absent[tc.signal.Name] == "" {
				t.Errorf("absent: %v", d.Absent)
			}
			if c.Starts() != 1 {
				t.Errorf("%d starts", c.Starts())
			}
		})
	}
	t.Run("count", func(t *testing.T) {
		inventory, err := open(t, driver(t, "garbage count\n"))
		if err != nil || inventory.Unavailable == nil || !strings.Contains(inventory.Unavailable.Reason, "4000000000") {
			t.Errorf("%+v, %v", inventory, err)
		}
	})
	t.Run("no gpus", func(t *testing.T) {
		inventory, err := open(t, driver(t, "gpus 0\n"))
		if err != nil || inventory.Unavailable == nil ||
			inventory.Unavailable.Reason != "counting GPUs: NVML sees none" {
			t.Errorf("%+v, %v", inventory, err)
		}
	})
	t.Run("name", func(t *testing.T) {
		inventory, _ := mustTake(t, driver(t, "garbage name\n"), 1)
		if name := inventory.Devices[0].Name; len(name) > 96 || strings.ContainsRune(name, '\u009b') ||
			!strings.HasPrefix(name, `\x9b`) {
			t.Errorf("a name of C1 bytes without an end: %q", name)
		}
	})
	t.Run("uuid", func(t *testing.T) {
		inventory, _ := mustTake(t, driver(t, "garbage uuid\n"), 1)
		if inventory.Devices[0].UUID != "unknown-0" || inventory.Devices[1].UUID != "unknown-1" {
			t.Errorf("got %+v", inventory.Devices)
		}
	})
}

func TestGPUFallsOffTheBus(t *testing.T) {
	c := driver(t, "lost 0 3\n")
	_, reading := mustTake(t, c, 3)
	if reading.Devices[0].Lost || !has(reading.Devices[0], metric.GPUUtil) {
		t.Fatalf("lost too early: %+v", reading.Devices[0])
	}
	for range 3 {
		reading := must.Get(take(t, c, Request{Slow: true, Processes: true}))(t)
		lost, other := reading.Devices[0], reading.Devices[1]
		lost.Absent = nil
		if diff := cmp.Diff(DeviceReading{UUID: secondUUID, Lost: true}, lost); diff != "" {
			t.Errorf("the lost GPU: %s", diff)
		}
		if other.Lost || other.Values[metric.GPUUtil.Name] != 0.8 {
			t.Errorf("the other GPU: %+v", other)
		}
	}
	if c.Starts() != 1 {
		t.Errorf("%d starts", c.Starts())
	}
}

func TestGPULostFromTheStart(t *testing.T) {
	inventory, reading := mustTake(t, driver(t, "fail nvmlDeviceGetHandleByIndex_v2 15\n"), 1)
	if !inventory.Devices[0].Lost || !reading.Devices[0].Lost || reading.Devices[0].UUID != "unknown-0" {
		t.Errorf("%+v, %+v", inventory, reading)
	}
}

// TestHangs and TestDeaths are the library at its worst: each must end within 5 s with a reason.
func TestHangs(t *testing.T) {
	for _, where := range []struct {
		function string
		call     int
	}{{"nvmlInit_v2", 1}, {"nvmlDeviceGetCount_v2", 1}, {"nvmlDeviceGetPowerUsage", 1}, {"nvmlDeviceGetPowerUsage",
		100}} {
		t.Run(fmt.Sprint(where.function, " ", where.call), func(t *testing.T) {
			t.Parallel()
			c := driver(t, fmt.Sprintf("hang %s %d\n", where.function, where.call))
			err := useUntilError(t, c, 60)
			if late := new(isolate.TimeoutError); !errors.As(err, &late) || late.Task != Task {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestDeaths(t *testing.T) {
	for _, tc := range []struct{ config, words string }{
		{"abort nvmlInit_v2 1", "SIGABRT"},
		{"abort nvmlDeviceGetMemoryInfo_v2 10", "SIGABRT"},
		{"segv nvmlDeviceGetMaxClockInfo 3", "SIGSEGV"},
	} {
		t.Run(tc.config, func(t *testing.T) {
			t.Parallel()
			c := driver(t, tc.config+"\n")
			begin := time.Now()
			var err error
			for !errors.Is(err, isolate.ErrGaveUp) && time.Since(begin) < 5*time.Second {
				err = useUntilError(t, c, 60)
				death := new(isolate.DeathError)
				if !errors.As(err, &death) || !strings.Contains(death.Line, tc.words) {
					t.Fatalf("got %v", err)
				}
			}
			if !errors.Is(err, isolate.ErrGaveUp) || c.Starts() != 1+isolate.MaxRestarts {
				t.Errorf("after %d starts: %v", c.Starts(), err)
			}
		})
	}
}

// useUntilError opens the library and samples it until something fails, and holds the failure to 5 s.
func useUntilError(t *testing.T, c *isolate.Child, readings int) error {
	t.Helper()
	begin := time.Now()
	defer func() {
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("took %v", took)
		}
	}()
	if _, err := open(t, c); err != nil {
		return err
	}
	for range readings {
		if _, err := take(t, c, Request{Slow: true}); err != nil {
			return err
		}
	}
	return nil
}
