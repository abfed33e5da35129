package archtest

import (
	"fmt"
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pipetune/pipetune/internal/must"
)

// A line has at most mostColumns, where a tab counts for tabColumns.
const mostColumns, tabColumns = 120, 4

// wide lists the lines of Go source that are too long. Those within a raw string are another language's, and those of
// C have their own ways.
func wide(src []byte) []int {
	set := token.NewFileSet()
	file := set.AddFile("", set.Base(), len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, scanner.ScanComments)
	foreign := map[int]bool{}
	for {
		pos, kind, text := s.Scan()
		if kind == token.EOF {
			break
		}
		raw := kind == token.STRING && strings.HasPrefix(text, "`") || kind == token.COMMENT &&
			strings.HasPrefix(text, "/*")
		for n := range 1 + strings.Count(text, "\n") {
			foreign[file.Line(pos)+n] = foreign[file.Line(pos)+n] || raw
		}
	}
	var found []int
	for n, line := range strings.Split(string(src), "\n") {
		if columns := utf8.RuneCountInString(line) + (tabColumns-1)*strings.Count(line, "\t"); columns > mostColumns &&
			!foreign[n+1] {
			found = append(found, n+1)
		}
	}
	return found
}

func TestLinesAreNarrow(t *testing.T) {
	for _, name := range files(t, ".go") {
		for _, n := range wide(must.Get(os.ReadFile(filepath.Join(root, filepath.FromSlash(name))))(t)) {
			t.Errorf("%s:%d is longer than %d columns: break it", name, n, mostColumns)
		}
	}
}

// TestPythonIsNarrow: of the Python that pipetune carries; the jobs that tests run are written as people write theirs.
func TestPythonIsNarrow(t *testing.T) {
	for _, name := range files(t, ".py") {
		if !strings.Contains(name, "/python/") {
			continue
		}
		text := string(must.Get(os.ReadFile(filepath.Join(root, filepath.FromSlash(name))))(t))
		for n, line := range strings.Split(text, "\n") {
			if utf8.RuneCountInString(line) > mostColumns {
				t.Errorf("%s:%d is longer than %d columns: break it", name, n+1, mostColumns)
			}
		}
	}
}

func TestWideIsFound(t *testing.T) {
	long := strings.Repeat("x", mostColumns)
	src := fmt.Sprintf("package x\n\n// %s\n\tvar a = `\n%s\n`\nvar b = \"%s\"\n", long, long, long)
	if found := fmt.Sprint(wide([]byte(src))); found != "[3 7]" {
		t.Errorf("found %s", found)
	}
}
