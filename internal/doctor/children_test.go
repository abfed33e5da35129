package doctor

import (
	"strings"
	"testing"
)

func TestConfinementIsSaid(t *testing.T) {
	for _, tc := range []struct {
		landlock int
		filter   bool
		state    State
		words    []string
	}{
		{7, true, OK, []string{"Landlock 7", "seccomp"}},
		{0, true, Limited, []string{"(Landlock)"}},
		{7, false, Limited, []string{"(seccomp)"}},
		{0, false, Limited, []string{"(Landlock), nor", "(seccomp)"}},
	} {
		c := confinement(tc.landlock, tc.filter)
		if c.State != tc.state || (tc.landlock == 0) != (c.Cure != "") {
			t.Errorf("Landlock %d, filter %t: %+v", tc.landlock, tc.filter, c)
		}
		for _, w := range tc.words {
			if !strings.Contains(c.Detail, w) {
				t.Errorf("Landlock %d, filter %t: no %q in %q", tc.landlock, tc.filter, w, c.Detail)
			}
		}
	}
}
