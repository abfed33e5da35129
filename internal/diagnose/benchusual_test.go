package diagnose

import (
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
)

// What a job gets is told of the library that it most likely reads with, and not of the fastest there is.
func TestUsualLibrary(t *testing.T) {
	seconds := func(x float64) evidence.Value { return evidence.Value{Summary: stat.Exact(x)} }
	type library struct {
		name string
		item float64
	}
	for name, c := range map[string]struct {
		own           float64
		libraries     []library
		headline, why string
	}{
		"pictures": {0.0006, []library{{"torchvision", 0.0007}, {"pillow", 0.0017}}, "; in Python (pillow) 588",
			" In Python (pillow) it takes 1.7 ms, by torchvision 700 µs."},
		"no Pillow": {0.0006, []library{{"torchvision", 0.001}}, "; in Python (torchvision) 1,000",
			" In Python (torchvision) it takes 1 ms."},
		"as fast":       {0.0006, []library{{"h5py", 0.00065}}, "", ""},
		"none measured": {0.0006, nil, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := evidence.New(map[string]evidence.Value{metric.BenchItem.Name: seconds(c.own)}, evidence.Facts{})
			e.Bench = &evidence.Bench{Noun: "item"}
			for _, l := range c.libraries {
				e.Bench.Decoders = append(e.Bench.Decoders, evidence.Decoder{Name: l.name, Item: seconds(l.item)})
			}
			if got := headline(e); !strings.HasSuffix(got, "random order"+c.headline) {
				t.Errorf("headline %q", got)
			}
			if got := inPythonSaid(e); got != c.why {
				t.Errorf("why %q", got)
			}
		})
	}
}
