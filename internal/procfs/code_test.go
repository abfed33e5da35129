package procfs

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/procfs/fakeroot"
)

const codeMaps = "7f10-7f20 r-xp 00000000 00:00 0                          [vdso]\n" +
	"00400000-00401000 r--p 00000000 fe:00 1    /usr/bin/python3.11\n" +
	"1000-3000 r-xp 00001000 fe:00 1                     /opt/a b/libtorch\\040cpu.so (deleted)\n" +
	"3000-4000 rwxp 00000000 00:00 0 \n"

func TestParseCode(t *testing.T) {
	got := must.Get(ParseCode(strings.NewReader(codeMaps + "5000-4000 r-xp 0 0 0 /backwards\nx-y r-xp 0 0 0 " +
		"/words\n6000 r-xp\n8000-9000 r-xp 0 0 0 /cut")))(t)
	want := []Mapping{{Addresses{0x1000, 0x3000}, "/opt/a b/libtorch cpu.so (deleted)"},
		{Addresses{0x3000, 0x4000}, ""}, {Addresses{0x7f10, 0x7f20}, "[vdso]"}, {Addresses{0x8000, 0x9000}, "/cut"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestMapsOfThisProcess finds a function and a variable of this program.
func TestMapsOfThisProcess(t *testing.T) {
	p := open(t, FS{}, os.Getpid())
	code := must.Get(p.Code())(t)
	exe := must.Get(os.Executable())(t)
	if !slices.ContainsFunc(code, func(c Mapping) bool { return c.Path == exe }) {
		t.Errorf("this program is not among %v", code)
	}
	if s := must.Get(p.Statics(func(path string) bool { return path == exe }))(t); len(s) == 0 {
		t.Error("this program has no static data")
	}
}

func TestPerfEventParanoid(t *testing.T) {
	root := fakeroot.New(t)
	f := FS{Root: root.Dir}
	if _, err := f.PerfEventParanoid(); err == nil {
		t.Error("a kernel without perf events has a setting")
	}
	for text, want := range map[string]int{"-1\n": -1, "2\n": 2, "4\n": 4, "x\n": 99} {
		root.Put("proc/sys/kernel/perf_event_paranoid", text)
		if n, err := f.PerfEventParanoid(); n != want && (err == nil || want != 99) {
			t.Errorf("%q: %d, %v", text, n, err)
		}
	}
}
