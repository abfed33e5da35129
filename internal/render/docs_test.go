package render

import (
	"fmt"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/must"
)

// excerpt is a part of a page of documentation that shows a section of an example report's text.
var excerpt = regexp.MustCompile("(?m)^<!-- ([a-z0-9-]+): (.+) -->\n```text\n(?s:.*?)```\n")

// TestDocsShowWhatIsPrinted holds the excerpts in the documentation to what the examples render to.
func TestDocsShowWhatIsPrinted(t *testing.T) {
	for _, page := range []string{"../../docs/bench-io.md", "../../docs/launch.md"} {
		t.Run(path.Base(page), func(t *testing.T) { showsWhatIsPrinted(t, page) })
	}
}

func showsWhatIsPrinted(t *testing.T, page string) {
	shown := 0
	got := excerpt.ReplaceAllStringFunc(string(must.Get(os.ReadFile(page))(t)), func(old string) string {
		m := excerpt.FindStringSubmatch(old)
		shown++
		text := textOf(t, load(t, fixtures+"/"+m[1]+".json"))
		return fmt.Sprintf("<!-- %s: %s -->\n```text\n%s```\n", m[1], m[2], sectionOf(t, text, m[2]))
	})
	if shown == 0 {
		t.Fatalf("%s has no excerpts", page)
	}
	compareToFile(t, page, got)
}

// sectionOf cuts a section out of a text report: from its title to the next empty line.
func sectionOf(t *testing.T, text, title string) string {
	t.Helper()
	_, rest, found := strings.Cut(text, "\n\n"+title)
	if !found {
		t.Fatalf("no section %s in\n%s", title, text)
	}
	body, _, _ := strings.Cut(title+rest, "\n\n")
	return body + "\n"
}
