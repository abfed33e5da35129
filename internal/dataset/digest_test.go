package dataset

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/must"
)

// TestDigestIsOfTheItems and not of how they are stored.
func TestDigestIsOfTheItems(t *testing.T) {
	file := filepath.Join(fixtures, "layouts.h5")
	of := func(name string) string {
		t.Helper()
		return must.Get(Digest(file, "/"+name))(t)
	}
	want := of("contiguous")
	if fields := strings.Fields(want); len(fields) != 6 || !strings.HasPrefix(fields[2], "0=") ||
		len(fields[2]) != len("0=")+16 {
		t.Fatalf("%q", want)
	}
	for _, name := range []string{"chunk_item", "chunk_many", "chunk_across", "gzip", "resizable"} {
		if got := of(name); got != want {
			t.Errorf("%s: %q, stored otherwise %q", name, got, want)
		}
	}
	if other := of("scaleoffset"); other == want {
		t.Errorf("other items have the digest %q too", other)
	}
	// A chunk of 80,000 bytes is read for each of the items, which were never written.
	if got := of("unallocated"); strings.Count(got, "=") != 4 {
		t.Errorf("unallocated: %q", got)
	}
	for _, name := range []string{"none", "types/str", "types/jpeg"} {
		if got, err := Digest(file, "/"+name); err == nil && got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
}
