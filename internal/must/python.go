package must

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
)

// Interpreter is the Python that tests run: the one that $PYTHON names, or Debian's.
func Interpreter() string { return cmp.Or(os.Getenv("PYTHON"), "/usr/bin/python3") }

// Python runs the interpreter with arguments, to make what a test needs or reads.
func Python(t TB, args ...string) {
	t.Helper()
	python := Interpreter()
	if out, err := exec.Command(python, append([]string{"-B"}, args...)...).CombinedOutput(); err != nil {
		t.Fatal(fmt.Sprintf("%s: %v (apt-get install python3-h5py python3-numpy python3-pil)\n%s", python, err, out))
	}
}
