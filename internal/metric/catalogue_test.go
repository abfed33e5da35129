package metric

import (
	"regexp"
	"testing"
)

// TestCatalogueIsSound holds every signal to the naming rules: unique, lower snake case, described, and with a unit.
func TestCatalogueIsSound(t *testing.T) {
	word := regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	seen := map[string]bool{}
	for _, d := range All() {
		if !word.MatchString(d.Name) {
			t.Errorf("%q is not lower snake case", d.Name)
		}
		if seen[d.Name] {
			t.Errorf("%q is declared twice", d.Name)
		}
		seen[d.Name] = true
		if d.Help == "" || d.Unit == "" {
			t.Errorf("%q lacks a help text or a unit", d.Name)
		}
	}
	for _, d := range Derived {
		if d.Kind != Gauge {
			t.Errorf("%q is derived but not a gauge", d.Name)
		}
	}
}
