package compare

import (
	"errors"
	"testing"

	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/pkg/report"
)

func TestThresholds(t *testing.T) {
	r := &report.Report{Metrics: map[string]report.Metric{
		"gpu_busy_ratio": {Center: 0.8, Lo: 0.75, Hi: 0.85, Confidence: 0.95},
		"step_time_s":    {Center: 0.02, Lo: 0.02, Hi: 0.02},
	}}
	for text, want := range map[string]report.GateAnswer{
		"gpu_busy_ratio>=0.7":    report.GatePassed,
		"gpu_busy_ratio >= 75%":  report.GatePassed,
		"gpu_busy_ratio>0.75":    report.GateUnclear,
		"gpu_busy_ratio>=0.8":    report.GateUnclear,
		"gpu_busy_ratio>=0.9":    report.GateFailed,
		"gpu_busy_ratio<0.85":    report.GateUnclear,
		"gpu_busy_ratio<=0.85":   report.GatePassed,
		"gpu_busy_ratio<0.5":     report.GateFailed,
		"step_time_s<=20ms":      report.GatePassed,
		"step_time_s<0.02":       report.GateFailed,
		"input_wait_ratio<=0.05": report.GateUnclear, // not measured
	} {
		if got := must.Get(ParseThreshold(text))(t).Judge(r); got.Answer != want ||
			(got.Value == nil) != (text == "input_wait_ratio<=0.05") {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

func TestThresholdsThatAreNone(t *testing.T) {
	for text, want := range map[string]error{
		"": nil, "gpu_busy_ratio": nil, "gpu_busy_ratio=0.8": nil, "gpu_busy_ratio==0.8": nil, "gpu_busy_ratio>=": nil,
		"gpu_busy_ratio>=x": nil, "gpu_busy_ratio>=NaN": nil, "gpu_busy_ratio>=inf": nil, "gpu_busy_ratio>=80": nil,
		"gpu_busy_ratio>=20ms": nil, "step_time_s<5%": nil, "gpu_busy>=0.8": ErrNoSuchFigure,
	} {
		if _, err := ParseThreshold(text); err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
