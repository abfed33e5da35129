package diagnose

import (
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/pkg/report"
)

// The two lines that grade a share of the step. Published thresholds for "input-bound" spread from 5 % to 30 %; these two agree with most.
var (
	Moderate = Limit{"moderate share of the step", 0.05, metric.Ratio,
		"TensorFlow profiler, op_stats_to_input_pipeline_analysis: from 5 % moderately input-bound; PyTorch tb_plugin flags the DataLoader above 5 %"}
	High = Limit{"high share of the step", 0.20, metric.Ratio,
		"TensorFlow profiler, op_stats_to_input_pipeline_analysis: from 20 % highly input-bound; TraceML calls 20 % critical"}
)

// Grade gives a finding the severity of the share of step time it costs now.
func Grade(share float64) report.Severity {
	switch {
	case share >= High.Value:
		return report.Error
	case share >= Moderate.Value:
		return report.Warning
	}
	return report.Info
}
