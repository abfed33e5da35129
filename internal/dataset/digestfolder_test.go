package dataset

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A folder is known wherever it lies; a file rewritten changes the contents and not the names, another file changes
// both.
func TestDigestOfAFolder(t *testing.T) {
	fill := func(suffix, text string, files int) string {
		folder := t.TempDir()
		for i := range files {
			name := filepath.Join(folder, "class_"+strconv.Itoa(i%3), strconv.Itoa(i)+suffix)
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(text+name[len(folder):len(name)-len(suffix)]), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return folder
	}
	digest := func(folder string) []string {
		got, err := digestFolder(folder, "")
		if err != nil {
			t.Fatal(err)
		}
		return strings.Fields(got)
	}
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
	if err := os.WriteFile(filepath.Join(beside, "train.log"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := digestFolder(beside, ".jpg"); err != nil || got != strings.Join(first, " ") {
		t.Errorf("with a log beside it: %q, %v", got, err)
	}
	if got, err := digestFolder(t.TempDir(), ""); got != "" || err != nil {
		t.Errorf("empty: %q, %v", got, err)
	}
}
