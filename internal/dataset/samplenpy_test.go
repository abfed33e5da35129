package dataset

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/pipetune/pipetune/internal/format"
)

// Whatever a header says, what comes out of it can be drawn from, and lies in the file.
func FuzzArrayOfHead(f *testing.F) {
	for _, name := range []string{"plain.npy", "fortran.npy", "scalar.npy", "text.npy", "fields.npy", "objects.npy"} {
		raw, err := os.ReadFile(filepath.Join(fixtures, name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw[:min(len(raw), format.HeadBytes)], int64(len(raw)))
	}
	f.Add([]byte("\x93NUMPY\x02\x00\xff\xff\xff\xff{}"), int64(100))
	f.Fuzz(func(t *testing.T, head []byte, size int64) {
		a, err := arrayOfHead(head[:min(len(head), format.HeadBytes)], max(size, int64(len(head))))
		if err != nil {
			return
		}
		s := &surveyor{o: SurveyOptions{MaxItems: 10}}
		s.out.Kind, s.out.Files, s.out.FilesExact = Npy, 2, true
		if err := s.collect(a); err != nil {
			t.Fatal(err)
		}
		if err := s.collected(); err != nil {
			t.Fatal(err)
		}
		if err := s.draw(); err != nil {
			t.Fatal(err)
		}
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
