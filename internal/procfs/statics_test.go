package procfs

import (
	"os"
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

// TestStaticsOfThisProcess finds a variable of this program.
func TestStaticsOfThisProcess(t *testing.T) {
	p := must.Get(FS{}.Open(os.Getpid()))(t)
	defer p.Close()
	exe := must.Get(os.Executable())(t)
	if s := must.Get(p.Statics(func(path string) bool { return path == exe }))(t); len(s) == 0 {
		t.Error("this program has no static data")
	}
}

// FuzzStatics holds the ranges to their order.
func FuzzStatics(f *testing.F) {
	for k := 0; k <= len(staticMaps); k += 7 {
		f.Add([]byte(staticMaps[:k]))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := ParseStatics(strings.NewReader(string(text)), func(string) bool { return true })
		for _, a := range got {
			if err == nil && a.To <= a.From {
				t.Errorf("%#x to %#x", a.From, a.To)
			}
		}
	})
}
