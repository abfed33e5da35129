package dataset

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/pipetune/pipetune/internal/format"
	"github.com/pipetune/pipetune/internal/must"
)

// Whatever a header says, what comes out of it can be drawn from, and lies in the file.
func FuzzArrayOfHead(f *testing.F) {
	for _, name := range []string{"plain.npy", "fortran.npy", "scalar.npy", "text.npy", "fields.npy", "objects.npy"} {
		raw := must.Get(os.ReadFile(filepath.Join(fixtures, name)))(f)
		f.Add(raw[:min(len(raw), format.HeadBytes)], int64(len(raw)))
	}
	for _, head := range []string{"\x02\x00\xff\xff\xff\xff{}", "\x02\x00\x10\x00\x00\x00{'descr': [",
		"\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (60000, 28, 28), }",
		"\x01\x00\x40\x00{'descr': '<f4', 'fortran_order': True, 'shape': (9223372036854775807, 2, 8"} {
		f.Add([]byte("\x93NUMPY"+head), int64(100))
	}
	f.Fuzz(func(t *testing.T, head []byte, size int64) {
		a, err := arrayOfHead(head[:min(len(head), format.HeadBytes)], max(size, int64(len(head))))
		if err != nil {
			return
		}
		s := &surveyor{o: SurveyOptions{MaxItems: 10}}
		s.out.Kind, s.out.Files, s.out.FilesExact = Npy, 2, true
		must.Do(t, s.collect(a))
		must.Do(t, s.collected())
		must.Do(t, s.draw())
		for _, item := range s.out.Sample.Items {
			if item.Index < 0 || item.Index >= a.shape[0] {
				t.Fatalf("item %d of %v", item.Index, a.shape)
			}
		}
		if *a.itemBytes < 0 || *a.itemBytes > max(size, int64(len(head))) {
			t.Fatalf("an item of %d bytes in a file of %d", *a.itemBytes, size)
		}
	})
}
