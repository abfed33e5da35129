package hdf5

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/must"
)

// ask sends a request through JSON and back, as a child process would.
func ask(t *testing.T, request Request) (Answer, error) {
	t.Helper()
	body := must.Get(json.Marshal(request))(t)
	value, err := Handler(context.Background(), body)
	if err != nil {
		return Answer{}, err
	}
	raw := must.Get(json.Marshal(value))(t)
	var got Answer
	must.Do(t, json.Unmarshal(raw, &got))
	return got, nil
}

func TestHandler(t *testing.T) {
	// A name that is not valid UTF-8 must reach the kernel as it is.
	path := filepath.Join(t.TempDir(), "na\xffme.h5")
	raw := must.Get(os.ReadFile(filepath.Join(fixtures, "layouts.h5")))(t)
	must.Do(t, os.WriteFile(path, raw, 0o600))
	got, err := ask(t, Request{Path: []byte(path)})
	if err != nil || got.Refused.Err() != nil {
		t.Fatal(err, got.Refused)
	}
	if diff := cmp.Diff(layout(t, "layouts.h5"), got.File); diff != "" {
		t.Errorf("through the handler (+):\n%s", diff)
	}
	got, err = ask(t, Request{Path: []byte(filepath.Join(fixtures, "outside.h5"))}) // with links, and files outside
	if diff := cmp.Diff(layout(t, "outside.h5"), got.File); diff != "" || err != nil {
		t.Errorf("through the handler (+):\n%s, %v", diff, err)
	}
	must.Do(t, os.WriteFile(path, raw[:1000], 0o600))
	got, err = ask(t, Request{Path: []byte(path)})
	if err != nil || got.Refused.Cause != CauseTruncated || !errors.Is(got.Refused.Err(), ErrTruncated) {
		t.Errorf("a cut file: %v, %+v", err, got.Refused)
	}
	if _, err = ask(t, Request{Path: []byte(path + "x")}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	few := DefaultLimits()
	few.Datasets = 1
	if got, err = ask(t, Request{Path: []byte(filepath.Join(fixtures, "many.h5")), Limits: &few}); err != nil ||
		len(got.File.Datasets) != 1 {
		t.Errorf("with a limit of 1: %d datasets, %v", len(got.File.Datasets), err)
	}
}
