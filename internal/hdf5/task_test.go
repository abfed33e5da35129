package hdf5

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ask sends a request through JSON and back, as a child process would.
func ask(t *testing.T, request Request) (Answer, error) {
	t.Helper()
	body, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	value, err := Handler(context.Background(), body)
	if err != nil {
		return Answer{}, err
	}
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var got Answer
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	return got, nil
}

func TestHandler(t *testing.T) {
	// A name that is not valid UTF-8 must reach the kernel as it is.
	path := filepath.Join(t.TempDir(), "na\xffme.h5")
	raw, err := os.ReadFile(filepath.Join(fixtures, "layouts.h5"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := ask(t, Request{Path: []byte(path)})
	if err != nil || got.Refused.Err() != nil {
		t.Fatal(err, got.Refused)
	}
	if diff := cmp.Diff(layout(t, "layouts.h5"), got.File); diff != "" {
		t.Errorf("through the handler (+):\n%s", diff)
	}
	if err := os.WriteFile(path, raw[:1000], 0o600); err != nil {
		t.Fatal(err)
	}
	got, err = ask(t, Request{Path: []byte(path)})
	if err != nil || got.Refused.Cause != CauseTruncated || !errors.Is(got.Refused.Err(), ErrTruncated) {
		t.Errorf("a cut file: %v, %+v", err, got.Refused)
	}
	if _, err = ask(t, Request{Path: []byte(path + "x")}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	few := DefaultLimits()
	few.Datasets = 1
	if got, err = ask(t, Request{Path: []byte(filepath.Join(fixtures, "many.h5")), Limits: &few}); err != nil || len(got.File.Datasets) != 1 {
		t.Errorf("with a limit of 1: %d datasets, %v", len(got.File.Datasets), err)
	}
}
