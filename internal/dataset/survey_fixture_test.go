package dataset

import (
	"bytes"
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/pipetune/pipetune/internal/must"
)

// answer asks through the handler and JSON, as a child process would be asked, and says how long the answer is.
func answer(t *testing.T, path string, o SurveyOptions) (got SurveyAnswer, bytes int, err error) {
	t.Helper()
	body := must.Get(json.Marshal(SurveyRequest{Path: []byte(path), Options: o}))(t)
	value, err := SurveyHandler(t.Context(), body)
	if err != nil {
		return got, 0, err
	}
	raw := must.Get(json.Marshal(value))(t)
	must.Do(t, json.Unmarshal(raw, &got))
	return got, len(raw), nil
}

// surveyed is what comes of an answer.
func surveyed(t *testing.T, path string, o SurveyOptions) (SurveyResult, error) {
	t.Helper()
	got, _, err := answer(t, path, o)
	return got.Result, cmp.Or(err, got.Refused.Err())
}

// copyOf puts a fixture somewhere else.
func copyOf(t *testing.T, fixture, to string) {
	t.Helper()
	write(t, to, load(t, filepath.Join(fixtures, fixture)))
}

// check holds a sample against what every sample promises.
func check(t *testing.T, got SurveyResult) {
	t.Helper()
	used := make([]bool, len(got.Sample.Files))
	for i, item := range got.Sample.Items {
		if item.File < 0 || item.File >= len(used) {
			t.Fatalf("item %d is in file %d of %d", i, item.File, len(used))
		}
		used[item.File] = true
		if i == 0 {
			continue
		}
		before := got.Sample.Items[i-1]
		if before.File > item.File || before.File == item.File && (before.Index > item.Index || before.At > item.At ||
			before.Index == item.Index && before.At == item.At) {
			t.Fatalf("item %d, %+v, comes after %+v", i, item, before)
		}
	}
	if i := slices.Index(used, false); i >= 0 {
		t.Errorf("nothing is read of %s", got.Sample.Files[i].Path)
	}
	for i, f := range got.Sample.Files {
		info, err := os.Stat(string(f.Path))
		if err != nil || info.Size() != f.Bytes {
			t.Errorf("%+v: %v", f, err)
		}
		if i > 0 && bytes.Compare(got.Sample.Files[i-1].Path, f.Path) >= 0 {
			t.Errorf("%s comes after %s", f.Path, got.Sample.Files[i-1].Path)
		}
	}
}
