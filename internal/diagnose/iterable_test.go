package diagnose

import (
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/pkg/report"
)

// hookOn is what the hook reports of a DataLoader.
func hookOn(call recording.Loader) *evidence.Hook {
	call.Class = "DataLoader"
	return &evidence.Hook{Loader: evidence.LoaderCall{Loader: call}}
}

// More workers make an iterable dataset come once for each of them unless its code shares it out: every recommendation
// of more says so, and none of fewer.
func TestMoreWorkersForAnIterable(t *testing.T) {
	iterable := hookOn(recording.Loader{Iterable: true})
	for _, c := range []struct {
		name string
		hook *evidence.Hook
		from string
		want string
	}{
		{"iterable", iterable, "1", "get_worker_info"},
		{"in shards", hookOn(recording.Loader{Iterable: true, Shards: new(6)}), "1", "its 6 shards"},
		{"asked by index", hookOn(recording.Loader{}), "1", ""},
		{"seen from outside", nil, "1", "IterableDataset"},
		{"fewer", iterable, "8", ""},
	} {
		facts := evidence.Facts{Framework: "pytorch", Hook: c.hook}
		rule := advises("loader/x", 0.5, workers(c.from, "4"))
		findings, _ := Judge(&rule, saw(facts, steady))
		if got := findings[0].Recommendations[0].Caveat; !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: %q", c.name, got)
		}
	}
	r := planned(t, starvingLoader, evidence.Facts{Hook: iterable})
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
		{"launched", "pin_memory", evidence.Facts{Tokenizers: true, Hook: hookOn(recording.Loader{})}, ""},
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
