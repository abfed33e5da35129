// Package must ends a test, trial or benchmark whose preparation fails, at the line that prepared. It is for what a
// test needs and not for what it finds out: a failure that is the test's own deserves words of its own.
package must

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"syscall"
	"time"
)

// TB is the part of testing.TB that ends a test.
type TB interface {
	Helper()
	Fatal(args ...any)
}

// Do goes on if there is no error.
func Do(t TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Get takes what a call returned: file := must.Get(os.Open(name))(t).
func Get[T any](value T, err error) func(TB) T {
	return func(t TB) T {
		t.Helper()
		Do(t, err)
		return value
	}
}

// Read reads a file: rep := must.Read(t, name, report.Decode).
func Read[T any](t TB, name string, decode func(io.Reader) (T, error)) (value T) {
	t.Helper()
	file, err := os.Open(name)
	if Do(t, err); err == nil {
		defer file.Close()
		value, err = decode(file)
		Do(t, err)
	}
	return value
}

// Unzipped decodes what a compressed file holds, as Read wants it.
func Unzipped[T any](decode func(io.Reader) (T, error)) func(io.Reader) (T, error) {
	return func(r io.Reader) (value T, err error) {
		unzipped, err := gzip.NewReader(r)
		if err != nil {
			return value, err
		}
		return decode(unzipped)
	}
}

// JSON decodes the first value of a stream, as Read wants it.
func JSON[T any](r io.Reader) (value T, err error) {
	err = json.NewDecoder(r).Decode(&value)
	return value, err
}

// CPUTime is the CPU time that this process has used: on a shared machine it says more than the clock.
func CPUTime(t TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	Do(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
