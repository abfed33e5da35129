package dataset

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/must"
)

// A folder is known wherever it lies: other contents leave the names' hash, another file changes both.
func TestDigestOfAFolder(t *testing.T) {
	fill := func(suffix, text string, files int) string {
		folder := t.TempDir()
		for i := range files {
			name := filepath.Join(folder, "class_"+strconv.Itoa(i%3), strconv.Itoa(i)+suffix)
			write(t, name, []byte(text+name[len(folder):len(name)-len(suffix)]))
		}
		return folder
	}
	digest := func(folder string) []string { return strings.Fields(must.Get(digestFolder(folder, ""))(t)) }
	first := digest(fill(".jpg", "a", 300))
	if len(first) != 2+mostSampled || first[0] != "300" || !strings.HasPrefix(first[1], ofNames) {
		t.Fatalf("%q", first)
	}
	if moved := digest(fill(".jpg", "a", 300)); strings.Join(moved, " ") != strings.Join(first, " ") {
		t.Errorf("moved: %q, %q", moved, first)
	}
	if anew := digest(fill(".webp", "b", 300)); anew[1] != first[1] || anew[2] == first[2] ||
		strings.Split(anew[2], "=")[0] != strings.Split(first[2], "=")[0] {
		t.Errorf("written anew: %q, %q", anew, first)
	}
	if more := digest(fill(".jpg", "a", 301)); more[0] == first[0] || more[1] == first[1] {
		t.Errorf("one more: %q, %q", more, first)
	}
	beside := fill(".jpg", "a", 300)
	write(t, filepath.Join(beside, "train.log"), nil)
	if got, err := digestFolder(beside, ".jpg"); err != nil || got != strings.Join(first, " ") {
		t.Errorf("with a log beside it: %q, %v", got, err)
	}
	if got, err := digestFolder(t.TempDir(), ""); got != "" || err != nil {
		t.Errorf("empty: %q, %v", got, err)
	}
}
