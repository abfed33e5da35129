package format

import (
	"strings"
	"testing"
)

func TestEveryFormatIsRecognised(t *testing.T) {
	for _, f := range Table {
		if f.Mark != "" {
			head := append(make([]byte, f.At), f.Mark...)
			if got := OfBytes(head); got.Name != f.Name {
				t.Errorf("the mark of %s is taken for %q", f.Name, got.Name)
			}
			if got := OfBytes(head[:len(head)-1]); got.Name == f.Name {
				t.Errorf("a cut mark is still taken for %s", f.Name)
			}
		}
		for _, extension := range strings.Fields(f.Endings + " " + f.Doubtful) {
			if got, _ := OfName("x" + strings.ToUpper(extension)); got.Name != f.Name {
				t.Errorf("%s is taken for %q, want %s", extension, got.Name, f.Name)
			}
		}
		for _, name := range strings.Fields(f.Signs) {
			if got, ok := OfFolder([]byte(name)); !ok || got.Name != f.Name {
				t.Errorf("a folder with %s is taken for %q, want %s", name, got.Name, f.Name)
			}
		}
		if f.Mark == "" && f.Endings+f.Doubtful == "" {
			t.Errorf("%s can never be recognised", f.Name)
		}
	}
}

func TestWhatOpensAFileForEachItem(t *testing.T) {
	for _, c := range []struct {
		kind           Kind
		files, perFile float64
		want           bool
	}{
		{Image, 1, 0, true}, {Other, 500, 1, true}, {Other, 500, 30, false}, {Other, 5000, 0, false},
		{Other, 1, 1, true},
		{HDF5, 1, 1, false}, {HDF5, 2, 1, true}, {HDF5, 1001, 64, true}, {HDF5, 1000, 64, false}, {Npy, 0, 0, false},
	} {
		if got := c.kind.Items().OpensPerItem(c.files, c.perFile); got != c.want {
			t.Errorf("%s, %v files, %v items in each: %v", c.kind, c.files, c.perFile, got)
		}
	}
}
