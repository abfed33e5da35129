package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMembersOfALinkersMap(t *testing.T) {
	const text = `Archive member included to satisfy reference by file (symbol)

/usr/lib/libz.a(inflate.o)    /tmp/go-link-1/000001.o (inflate)
/a b/build/lib/libhdf5.a(H5.o)
                              /tmp/go-link-1/000002.o (H5open)
/usr/lib/libz.a(crc32.o)      /usr/lib/libz.a(inflate.o) (crc32)

Discarded input sections

/usr/lib/libnothing.a(x.o)    .text
LOAD /usr/lib/libunused.a
`
	got, err := members(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"/usr/lib/libz.a", "/a b/build/lib/libhdf5.a", "/usr/lib/libz.a"}, got); d != "" {
		t.Error(d)
	}
	for _, other := range []string{"", "LOAD /usr/lib/libz.a\n", "Archive member included to satisfy reference by " +
		"file (symbol)\n"} {
		if _, err := members(strings.NewReader(other)); err == nil {
			t.Errorf("%q is taken for a map", other)
		}
	}
}
