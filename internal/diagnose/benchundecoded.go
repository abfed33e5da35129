package diagnose

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
)

// undecodedHeadline is the headline for pictures of which it is not known what decoding takes: that of reading is no rate of items.
func undecodedHeadline(e *evidence.Evidence) string {
	if e.Bench.NoneDecode {
		return "no item could be decoded"
	}
	if read, ok := e.Get(metric.BenchRead); ok && read.Center > 0 {
		return fmt.Sprintf("%s items/s in one worker, warm, random order, reading alone: decoding was not measured", unit.Number(1/read.Center))
	}
	return ""
}

// undecodedStatement says what is known of such items.
func undecodedStatement(e *evidence.Evidence) string {
	why := "what decoding it takes was not measured"
	if reason, _ := e.WhyMissing(metric.BenchDecode); reason != "" {
		why += " (" + reason + ")"
	}
	why += ", so that it cannot be told where its time goes or what is in the way."
	if read, ok := e.Get(metric.BenchRead); ok {
		return fmt.Sprintf("Reading an item takes %s, warm; %s", unit.Seconds(read.Center), why)
	}
	return "Of an item, " + why
}
