package hook

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// pythonFiles holds the hook itself. The patterns name files, so that a __pycache__ left by a run of the tests is no part of the program.
//
//go:embed python/*.py python/*/*.py
var pythonFiles embed.FS

// source is one file of the hook.
type source struct {
	name string // below the folder that PYTHONPATH names, with slashes
	data []byte
}

// sources lists the hook's files in the order of their names, tests left out.
func sources() ([]source, error) {
	var list []source
	err := fs.WalkDir(pythonFiles, "python", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := path.Base(name)
		if d.IsDir() {
			if base == "__pycache__" || base == "tests" {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(base) != ".py" || strings.HasPrefix(base, "test_") {
			return nil
		}
		data, err := pythonFiles.ReadFile(name)
		list = append(list, source{name: strings.TrimPrefix(name, "python/"), data: data})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the embedded hook: %w", err)
	}
	slices.SortFunc(list, func(a, b source) int { return strings.Compare(a.name, b.name) })
	return list, nil
}

// Digest names the embedded hook: SHA-256 over the names, lengths and bytes of its files, in hex. "" where the program was built without it.
func Digest() string {
	list, err := sources()
	if err != nil || len(list) == 0 {
		return ""
	}
	sum := sha256.New()
	for _, s := range list {
		fmt.Fprintf(sum, "%s\x00%d\x00", s.name, len(s.data))
		sum.Write(s.data)
	}
	return hex.EncodeToString(sum.Sum(nil))
}
