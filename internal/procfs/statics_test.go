package procfs

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/must"
)

// staticMaps are of CPython 3.11 in Debian, shortened: its data, .bss and heap, and a library's.
const staticMaps = `00400000-0041f000 r--p 00000000 fe:00 247702                             /usr/bin/python3.11
0041f000-006d2000 r-xp 0001f000 fe:00 247702                             /usr/bin/python3.11
00946000-00a85000 rw-p 00545000 fe:00 247702                             /usr/bin/python3.11
00a85000-00aca000 rw-p 00000000 00:00 0
00aca000-00acb000 rw-p 00000000 00:00 0
01ae8000-01c12000 rw-p 00000000 00:00 0                                  [heap]
7fab63000000-7fab63001000 rw-p 00001000 fe:00 9                          /usr/lib/libz.so.1
7fab63001000-7fab63002000 rw-p 00000000 00:00 0
`

func TestStatics(t *testing.T) {
	python := func(path string) bool { return strings.HasPrefix(filepath.Base(path), "python") }
	got := Statics(must.Get(ParseStatics(strings.NewReader(staticMaps+"cut"), python))(t))
	if diff := cmp.Diff(Statics{{0x946000, 0xa85000}, {0xa85000, 0xaca000}}, got); diff != "" {
		t.Error(diff)
	}
	for address, want := range map[uint64]bool{0xa5b8f4: true, 0xac9fff: true, 0xaca000: false, 0x41f000: false,
		0x1ae8010: false} {
		if got.Has(address) != want {
			t.Errorf("%#x: %t", address, got.Has(address))
		}
	}
}

// FuzzMaps holds what is found in a map to what its lines can say, to its order and to the limit.
func FuzzMaps(f *testing.F) {
	for _, maps := range []string{codeMaps, staticMaps} {
		for k := range len(maps) + 1 {
			f.Add([]byte(maps[:k]))
		}
		for _, d := range damage {
			f.Add([]byte(d.of(maps)))
		}
	}
	all := func(string) bool { return true }
	f.Fuzz(func(t *testing.T, text []byte) {
		code := must.Get(ParseCode(bytes.NewReader(text)))(t)
		for i, c := range code {
			if c.To <= c.From || i > 0 && c.From < code[i-1].From {
				t.Errorf("%#x-%#x at %d", c.From, c.To, i)
			}
		}
		for _, a := range must.Get(ParseStatics(bytes.NewReader(text), all))(t) {
			if a.To <= a.From {
				t.Errorf("%#x to %#x", a.From, a.To)
			}
		}
		if paths := must.Get(ParseMappedFiles(bytes.NewReader(text), all, 3))(t); len(paths) > 3 {
			t.Errorf("%d paths, at most 3 were asked for", len(paths))
		}
	})
}
