package rules

import (
	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/pkg/report"
)

// Verdict is the verdict of Judge alone, for less work.
func Verdict(rec *recording.Recording) (*report.Verdict, error) {
	e, err := evidence.FromRecording(rec)
	if err != nil {
		return nil, err
	}
	return diagnose.Verdict(e, All()), nil
}

// Judge turns a recording into a report by all rules: the right half of the hourglass. An error says why nothing can be
// concluded from it.
func Judge(rec *recording.Recording) (*report.Report, error) {
	e, err := evidence.FromRecording(rec)
	if err != nil {
		return nil, err
	}
	r := diagnose.Run(e, All())
	if rec.End != nil {
		r.Tool.Overhead = &report.Overhead{CPURatio: rec.End.Overhead.CPURatio, MaxRSSBytes: rec.End.Overhead.MaxRSS}
	}
	return r, nil
}
