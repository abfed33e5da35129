package dataset

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/must"
)

func TestReadArray(t *testing.T) {
	for name, want := range map[string]npyHeader{
		"plain.npy": {kind: "|u1", shape: []int64{24, 4, 6}, itemBytes: new(int64(24))},
		"fortran.npy": {kind: ">f4", shape: []int64{24, 4, 6}, fortran: true,
			itemBytes: new(int64(96))},
		"scalar.npy":  {kind: "<f8"},
		"text.npy":    {kind: "<U3", shape: []int64{2}, itemBytes: new(int64(12))},
		"fields.npy":  {kind: "[('x', '<i4'), ('y', '<f8', (2,))]", shape: []int64{3}},
		"objects.npy": {kind: "|O", shape: []int64{2}},
	} {
		head := must.Get(os.ReadFile(filepath.Join(fixtures, name)))(t)
		got, err := readArray(head, int64(len(head)))
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(npyHeader{})); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

func TestElementBytes(t *testing.T) {
	for name, want := range map[string]int64{"<f4": 4, "|u1": 1, "<U3": 12, "|S7": 7, "<M8[ns]": 8, "|O": 0, "<c16": 16,
		"": 0, "<": 0, "f-4": 0, "|V8": 8} {
		if got := elementBytes(name); got != want {
			t.Errorf("%q: %d bytes, want %d", name, got, want)
		}
	}
}
