// Package must ends a test, trial or benchmark whose preparation fails, at the line that prepared. It is for what a
// test needs and not for what it finds out: a failure that is the test's own deserves words of its own.
package must

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
