package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/must"
)

// answerRoom is what package isolate lets one answer of a child have, less its envelope.
const answerRoom = 4<<20 - 256

// Paths of 4000 bytes: fewer files are drawn, and those can be opened.
func TestSurveyAnswerOfLongPaths(t *testing.T) {
	root := t.TempDir()
	fd := must.Get(unix.Open(root, unix.O_RDONLY|unix.O_DIRECTORY, 0))(t)
	defer func() { unix.Close(fd) }()
	dir := root
	for name := strings.Repeat("d", 250); len(dir) < 3700; dir = filepath.Join(dir, name) {
		fd = below(t, fd, name)
	}
	length := 4000 - len(dir) - 1
	for i := range 2000 {
		name := fmt.Sprintf("%0*d.bin", length-4, i)
		file := must.Get(unix.Openat(fd, name, unix.O_CREAT|unix.O_WRONLY, 0o600))(t)
		must.Get(unix.Write(file, []byte("x")))(t)
		unix.Close(file)
	}
	got, bytes, err := answer(t, root, SurveyOptions{})
	if bytes > answerRoom || err != nil {
		t.Errorf("an answer of %d bytes, %v", bytes, err)
	}
	files := got.Result.Sample.Files
	if len(files) != pathRoom/4000 || got.Result.Files != 2000 {
		t.Fatalf("%d files drawn of %d", len(files), got.Result.Files)
	}
	if len(files[0].Path) != 4000 {
		t.Errorf("a path of %d bytes", len(files[0].Path))
	}
}

// The most files and items, and corners of as many axes as HDF5 allows.
func TestSurveyAnswerOfManyItems(t *testing.T) {
	s := &surveyor{o: SurveyOptions{MaxItems: 1 << 20}}
	s.out.Sample.ItemShape = slices.Repeat([]int64{1}, 32)
	shape := slices.Repeat([]int64{1 << 60}, 32)
	s.lots = []lot{{file: File{Path: []byte("/x")}, items: 1 << 60, shape: shape}}
	must.Do(t, s.draw())
	raw, err := json.Marshal(s.out)
	if err != nil || len(raw) > itemRoom+10_000 {
		t.Errorf("%d bytes, %v", len(raw), err)
	}
	if n := len(s.out.Sample.Items); n < 1000 {
		t.Errorf("%d items drawn", n)
	}
	s = &surveyor{o: SurveyOptions{MaxItems: 1 << 20}}
	s.lots = []lot{{file: File{Path: []byte("/x")}, items: 1 << 60}}
	must.Do(t, s.draw())
	if raw, err = json.Marshal(s.out); err != nil || len(raw) > itemRoom+10_000 {
		t.Errorf("%d bytes, %v", len(raw), err)
	}
}

func TestSurveyOfManyEmptyFiles(t *testing.T) {
	dir := t.TempDir()
	for i := range 3 {
		many(t, filepath.Join(dir, fmt.Sprint(i)), 1000, "", fmt.Sprintf(".%d-\t", i)) // no two end alike
	}
	got, bytes, err := answer(t, dir, SurveyOptions{})
	must.Do(t, err)
	if err := got.Refused.Err(); !errors.Is(err, ErrNoItems) || !strings.Contains(err.Error(), reasonEmpty) {
		t.Errorf("%v", err)
	}
	if r := got.Result; r.Files != 3000 || !r.FilesExact || r.LargestDir != 1000 || r.Bytes != 0 || bytes > 10_000 {
		t.Errorf("%d bytes: %+v", bytes, got)
	}
}

func TestSurveyRequestThatMakesNoSense(t *testing.T) {
	if _, err := SurveyHandler(t.Context(), json.RawMessage(`{"Path":7}`)); err == nil {
		t.Error("a path that is a number was taken")
	}
}
