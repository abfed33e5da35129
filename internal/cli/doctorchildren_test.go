package cli

import (
	"strings"
	"testing"
)

func TestConfinementIsSaid(t *testing.T) {
	for _, tc := range []struct {
		landlock int
		filter   bool
		state    string
		words    []string
	}{
		{7, true, stateOK, []string{"Landlock 7", "seccomp"}},
		{0, true, stateLimited, []string{"(Landlock)"}},
		{7, false, stateLimited, []string{"(seccomp)"}},
		{0, false, stateLimited, []string{"(Landlock), nor", "(seccomp)"}},
	} {
		c := confinement(tc.landlock, tc.filter)
		if c.state != tc.state || (tc.landlock == 0) != (c.cure != "") {
			t.Errorf("Landlock %d, filter %t: %+v", tc.landlock, tc.filter, c)
		}
		for _, w := range tc.words {
			if !strings.Contains(c.detail, w) {
				t.Errorf("Landlock %d, filter %t: no %q in %q", tc.landlock, tc.filter, w, c.detail)
			}
		}
	}
}
