package hdf5

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/must"
)

// ask sends a request through JSON and back, as a child process would.
func ask(t *testing.T, path string) (got File, err error) {
	t.Helper()
	body := must.Get(json.Marshal(Request{Path: []byte(path)}))(t)
	value, err := Handler(t.Context(), body)
	if err != nil {
		return File{}, err
	}
	raw := must.Get(json.Marshal(value))(t)
	must.Do(t, json.Unmarshal(raw, &got))
	return got, nil
}

func TestHandler(t *testing.T) {
	for _, name := range []string{"layouts.h5", "outside.h5"} { // the latter with links, and files outside
		// A name that is not valid UTF-8 must reach the kernel as it is.
		path := filepath.Join(t.TempDir(), "na\xffme.h5")
		raw := must.Get(os.ReadFile(filepath.Join(fixtures, name)))(t)
		must.Do(t, os.WriteFile(path, raw, 0o600))
		got := must.Get(ask(t, path))(t)
		if diff := cmp.Diff(layout(t, name), got); diff != "" {
			t.Errorf("%s through the handler (+):\n%s", name, diff)
		}
		if _, err := ask(t, path+"x"); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("no file: %v", err)
		}
	}
}
