package document

import (
	"testing"

	"github.com/pipetune/pipetune/pkg/report"
)

// What will not help is named without its reason, and without what stands in parentheses, a colon there or not.
func TestUselessNamesAreWhole(t *testing.T) {
	f := &report.Finding{WontHelp: []string{"a larger cache, unless it holds all (62 MiB; slots some hundred times " +
		"that: 8009): the next item lies elsewhere", "faster storage: it waits for none"}}
	if got := useless(f); len(got) != 1 || got[0].Text != "a larger cache, unless it holds all; faster storage" {
		t.Errorf("%+v", got)
	}
}
