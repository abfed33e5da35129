package lint

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// leftOut are folders that hold no source of the person's own.
var leftOut = []string{"__pycache__", "node_modules", "site-packages", "dist-packages", "venv", "env", "build", "dist"}

// sources are the endings of what is judged: Python files, and notebooks.
var sources = []string{".py", ".pyi", ".pyw", ".ipynb"}

// ErrNoSource is of a file given by name that is no source: much of what is not Python parses as such, a report in JSON
// for one, and then nothing would be found in it.
var ErrNoSource = errors.New("is no Python file and no notebook")

// mostFiles is how many files one run judges.
const mostFiles = 100_000

// Files lists what is to be judged: paths of files as they are given, and of folders the Python files and notebooks
// below. Hidden folders, virtual environments and installed packages are left out, links are not followed, and so is
// what a pattern of exclude matches (its name, or its path as it would be shown).
func Files(paths, exclude []string) ([]string, error) {
	var found []string
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", path, plain(err))
		}
		if !info.IsDir() {
			if !info.Mode().IsRegular() {
				return nil, fmt.Errorf("%s is not a regular file", path)
			}
			python, err := slices.Contains(sources, filepath.Ext(path)), error(nil)
			if !python {
				python, err = script(path)
			}
			switch {
			case err != nil:
				return nil, fmt.Errorf("reading %s: %w", path, plain(err))
			case !python:
				return nil, fmt.Errorf("%s %w", path, ErrNoSource)
			}
			found = append(found, path)
			continue
		}
		err = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case name != path && excluded(name, exclude), d.IsDir() && name != path && foreign(name):
				if d.IsDir() {
					return fs.SkipDir
				}
			case d.Type().IsRegular() && slices.Contains(sources, filepath.Ext(name)):
				if found = append(found, name); len(found) > mostFiles {
					return errors.New("more than 100,000 files")
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// script reports whether a file's first line has Python execute it.
func script(path string) (bool, error) {
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

// plain leaves out the call and the path, which the caller names.
func plain(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

func foreign(folder string) bool {
	base := filepath.Base(folder)
	if strings.HasPrefix(base, ".") || slices.Contains(leftOut, base) {
		return true
	}
	_, err := os.Stat(filepath.Join(folder, "pyvenv.cfg"))
	return err == nil
}

func excluded(name string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		byName, _ := filepath.Match(p, filepath.Base(name)) // patterns were checked
		byPath, _ := filepath.Match(p, name)
		return byName || byPath
	})
}
