package cli

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// sources are the endings of what lint reads: Python files, and notebooks.
var sources = []string{".py", ".pyi", ".pyw", ".ipynb"}

// lintable refuses paths that are not there, and files given by name that are no source: much of what is not Python
// parses as such, a report in JSON for one, and then nothing would be found in it.
func lintable(paths []string) error {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			hint := ""
			if errors.Is(err, fs.ErrNotExist) {
				hint = "give a Python file, a notebook or a folder: pipetune lint ."
			}
			return fail(exitUsage, hint, "reading %s: %w", path, plainPathError(err))
		}
		if !info.Mode().IsRegular() || slices.Contains(sources, filepath.Ext(path)) {
			continue
		}
		python, err := pythonScript(path)
		if err != nil {
			return fail(exitUsage, "", "reading %s: %w", path, plainPathError(err))
		}
		if !python {
			return fail(exitUsage, "a Python file ends in .py or names python in its first line, a notebook ends in "+
				".ipynb", "%s is no Python file and no notebook", path)
		}
	}
	return nil
}

// pythonScript reports whether a file's first line has Python execute it.
func pythonScript(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	line, err := bufio.NewReader(io.LimitReader(f, 4096)).ReadBytes('\n')
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return bytes.HasPrefix(line, []byte("#!")) && bytes.Contains(line, []byte("python")), err
}
