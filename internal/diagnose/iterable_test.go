package diagnose

import (
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/pkg/report"
)

// More workers make an iterable dataset come once for each of them unless its code shares it out: every recommendation of more says so, and none of fewer.
func TestMoreWorkersForAnIterable(t *testing.T) {
	one, eight := "1", "8"
	for _, c := range []struct {
		name string
		hook *evidence.Hook
		from *string
		to   string
		want string
	}{
		{"iterable", &evidence.Hook{Loader: evidence.LoaderCall{Loader: recording.Loader{Class: "DataLoader", Iterable: true}}}, &one, "4", "get_worker_info"},
		{"in shards", &evidence.Hook{Loader: evidence.LoaderCall{Loader: recording.Loader{Class: "DataLoader", Iterable: true, Shards: new(6)}}}, &one, "4", "its 6 shards"},
		{"asked by index", &evidence.Hook{Loader: evidence.LoaderCall{Loader: recording.Loader{Class: "DataLoader"}}}, &one, "4", ""},
		{"seen from outside", nil, &one, "4", "IterableDataset"},
		{"fewer", &evidence.Hook{Loader: evidence.LoaderCall{Loader: recording.Loader{Class: "DataLoader", Iterable: true}}}, &eight, "4", ""},
	} {
		facts := evidence.Facts{Framework: "pytorch", Hook: c.hook}
		rule := advises("loader/x", 0.5, report.Recommendation{Setting: "num_workers", From: c.from, To: c.to})
		findings, _ := Judge(&rule, saw(facts, steady))
		if got := findings[0].Recommendations[0].Caveat; !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: %q", c.name, got)
		}
	}
	r := planned(t, starvingLoader, evidence.Facts{Hook: &evidence.Hook{Loader: evidence.LoaderCall{Loader: recording.Loader{Class: "DataLoader", Iterable: true}}}})
	if len(r.Plans) == 0 || !strings.Contains(r.Plans[0].Changes[0].Caveat, "get_worker_info") || !r.Job.Loader.Iterable {
		t.Errorf("got %+v", r.Plans)
	}
}
