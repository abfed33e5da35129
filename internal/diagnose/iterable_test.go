package diagnose

import (
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/pkg/report"
)

// More workers make an iterable dataset come once for each of them unless its code shares it out: every recommendation
// of more says so, and none of fewer.
func TestMoreWorkersForAnIterable(t *testing.T) {
	one, eight := "1", "8"
	for _, c := range []struct {
		name string
		hook *evidence.Hook
		from *string
		to   string
		want string
	}{
		{"iterable", &evidence.Hook{Loader: evidence.LoaderCall{Loader: recording.Loader{Class: "DataLoader",
			Iterable: true}}}, &one, "4", "get_worker_info"},
		{"in shards", &evidence.Hook{Loader: evidence.LoaderCall{Loader: recording.Loader{Class: "DataLoader",
			Iterable: true, Shards: new(6)}}}, &one, "4", "its 6 shards"},
		{"asked by index", &evidence.Hook{Loader: evidence.LoaderCall{Loader: recording.Loader{Class: "DataLoader"}}},
			&one, "4", ""},
		{"seen from outside", nil, &one, "4", "IterableDataset"},
		{"fewer", &evidence.Hook{Loader: evidence.LoaderCall{Loader: recording.Loader{Class: "DataLoader",
			Iterable: true}}}, &eight, "4", ""},
	} {
		facts := evidence.Facts{Framework: "pytorch", Hook: c.hook}
		rule := advises("loader/x", 0.5, report.Recommendation{Setting: "num_workers", From: c.from, To: c.to})
		findings, _ := Judge(&rule, saw(facts, steady))
		if got := findings[0].Recommendations[0].Caveat; !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: %q", c.name, got)
		}
	}
	r := planned(t, starvingLoader,
		evidence.Facts{Hook: &evidence.Hook{Loader: evidence.LoaderCall{Loader: recording.Loader{Class: "DataLoader",
			Iterable: true}}}})
	if len(r.Plans) == 0 || !strings.Contains(r.Plans[0].Changes[0].Caveat, "get_worker_info") ||
		!r.Job.Loader.Iterable {
		t.Errorf("got %+v", r.Plans)
	}
}

// TestSettingsOfTrainingArguments: from outside nothing says who makes the loader, so where transformers may have, the
// advice says how its Trainer calls a setting; what was launched has the patch for that.
func TestSettingsOfTrainingArguments(t *testing.T) {
	for _, c := range []struct {
		name, setting string
		facts         evidence.Facts
		want          string
	}{
		{"attached", "num_workers", evidence.Facts{Tokenizers: true}, "dataloader_num_workers of TrainingArguments"},
		{"another setting", "pin_memory", evidence.Facts{Tokenizers: true},
			"dataloader_pin_memory of TrainingArguments"},
		{"none of theirs", "shuffle", evidence.Facts{Tokenizers: true}, ""},
		{"without the library", "pin_memory", evidence.Facts{}, ""},
		{"launched", "pin_memory", evidence.Facts{Tokenizers: true,
			Hook: &evidence.Hook{Loader: evidence.LoaderCall{Loader: recording.Loader{Class: "DataLoader"}}}}, ""},
		{"fed by its own", "pin_memory", evidence.Facts{Tokenizers: true, Fed: &evidence.Fed{}}, ""},
	} {
		c.facts.Framework = "pytorch"
		rule := advises("loader/x", 0.5, report.Recommendation{Setting: c.setting, To: "4"})
		findings, _ := Judge(&rule, saw(c.facts, steady))
		for _, f := range findings {
			for _, r := range f.Recommendations {
				if !strings.Contains(r.Caveat, c.want) || c.want == "" &&
					strings.Contains(r.Caveat, "TrainingArguments") {
					t.Errorf("%s: %q", c.name, r.Caveat)
				}
			}
		}
		if len(findings) == 0 && c.facts.Fed == nil {
			t.Errorf("%s: nothing was found", c.name)
		}
	}
}
