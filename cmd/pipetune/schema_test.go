package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/pipetune/pipetune/internal/must"
)

// schemas hold the reports and comparisons that scripts write to docs/schema.
type schemas struct {
	of map[string]*jsonschema.Schema // by a file's own word for what it is

	mu       sync.Mutex
	seen     map[string]int
	breaches []string
}

func newSchemas(t *testing.T, root string) *schemas {
	s := &schemas{of: map[string]*jsonschema.Schema{}, seen: map[string]int{}}
	for kind, file := range map[string]string{"pipetune.report": "report.json",
		"pipetune.comparison": "comparison.json", "pipetune.merged": "merged.json"} {
		s.of[kind] = must.Get(jsonschema.NewCompiler().Compile(filepath.Join(root, "docs/schema", file)))(t)
	}
	return s
}

// check looks at what a script has left behind beside the files it began with, of which many are there to be refused.
func (s *schemas) check(dir string, before []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !strings.HasSuffix(path, ".json") || slices.Contains(before, path) {
			return nil // a folder that a script has locked
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return nil
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
		object, _ := value.(map[string]any)
		kind, _ := object["schema"].(string)
		if err != nil || s.of[kind] == nil {
			return nil
		}
		s.seen[kind]++
		if err := s.of[kind].Validate(value); err != nil {
			s.breaches = append(s.breaches, fmt.Sprintf("%s: %v", path, err))
		}
		return nil
	})
	if err != nil {
		s.breaches = append(s.breaches, err.Error())
	}
}

// jsonFiles are those of a script at its beginning.
func jsonFiles(dir string) []string {
	all, _ := filepath.Glob(filepath.Join(dir, "*.json")) // an error would be of the pattern
	return all
}

func (s *schemas) done(t *testing.T) {
	for _, b := range s.breaches {
		t.Error(b)
	}
	for kind := range s.of {
		if s.seen[kind] == 0 {
			t.Errorf("no script has left a %s", kind)
		}
	}
}
