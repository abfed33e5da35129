package hook

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"strings"
)

// pythonFiles holds the hook itself. The patterns name its files, so that neither tests nor a __pycache__ left by a
// run of them is part of the program.
//
//go:embed python/sitecustomize.py python/pipetune_hook/*.py python/pipetune_hook/acting/*.py
var pythonFiles embed.FS

// source is one file of the hook.
type source struct {
	name string // below the folder that PYTHONPATH names, with slashes
	data []byte
}

// actingFolder holds what acts on a job, below the folder that PYTHONPATH names.
const actingFolder = packageName + "/acting"

// sources lists the hook's files in the order of their names; those that act on the job where acts asks for them.
func sources(acts bool) (list []source, err error) {
	err = fs.WalkDir(pythonFiles, "python", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if !acts && strings.Contains(name, actingFolder+"/") {
			return nil
		}
		data, err := pythonFiles.ReadFile(name)
		list = append(list, source{name: strings.TrimPrefix(name, "python/"), data: data})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the embedded hook: %w", err)
	}
	return list, nil
}

// Digest names the embedded hook: SHA-256 over the names, lengths and bytes of its files, in hex. "" where the program
// was built without it.
func Digest() string {
	list, err := sources(true)
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
