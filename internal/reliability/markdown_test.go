//go:build reliability

package reliability

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// gfm is a CommonMark parser with GitHub's tables, bare links, strikethrough and task lists.
var gfm = goldmark.New(goldmark.WithExtensions(extension.GFM))

// reference is what GitHub takes for a mention or a reference in the text of the rendered page, code left out.
var reference = regexp.MustCompile(`(?:^|[^A-Za-z0-9_/` + "`" + `])(@[A-Za-z0-9]|#[0-9]|GH-[0-9])`)

// markdownShape is what must not depend on foreign text: each block with its depth, the columns of each row, and what
// is no text in a line, as code, links and tags. What a paragraph says is left out, and so is how many lines of code
// there are.
func markdownShape(source string) string {
	var b strings.Builder
	src := []byte(source)
	doc := gfm.Parser().Parse(text.NewReader(src))
	depth := 0
	plain := strings.Builder{}
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function returns no error
		if !entering {
			depth--
			return ast.WalkContinue, nil
		}
		depth++
		switch x := n.(type) {
		case *ast.Text:
			if p := n.Parent().Kind(); p != ast.KindCodeSpan {
				plain.Write(x.Segment.Value(src))
				plain.WriteByte(' ')
			}
		case *ast.String:
			plain.Write(x.Value)
		case *ast.RawHTML:
			fmt.Fprintf(&b, "%d tag %s\n", depth, strings.Join(strings.Fields(string(x.Segments.Value(src))), " "))
		case *ast.HTMLBlock:
			fmt.Fprintf(&b, "%d html %s\n", depth, strings.Join(
				tag.FindAllString(string(x.Lines().Value(src)), -1), ""))
		case *extast.TableRow, *extast.TableHeader:
			fmt.Fprintf(&b, "%d row of %d\n", depth, n.ChildCount())
		case *ast.Heading:
			fmt.Fprintf(&b, "%d heading %d\n", depth, x.Level)
		case *ast.Emphasis, *ast.CodeSpan, *ast.Link, *ast.Image, *ast.AutoLink, *extast.Strikethrough,
			*extast.TaskCheckBox:
			fmt.Fprintf(&b, "%d %s\n", depth, n.Kind())
		default:
			if n.Type() == ast.TypeBlock {
				fmt.Fprintf(&b, "%d %s\n", depth, n.Kind())
			}
		}
		return ast.WalkContinue, nil
	})
	if found := reference.FindString(html.UnescapeString(plain.String())); found != "" {
		fmt.Fprintf(&b, "reference %q\n", found)
	}
	return b.String()
}

// tag is one tag or comment of HTML.
var tag = regexp.MustCompile(`<!--|</?[A-Za-z][^>]*>`)

func TestShapesTellWhatForeignTextMayNotBring(t *testing.T) {
	harmless := markdownShape("### a\n\n| x | y |\n|--|--|\n| word | 1 |\n\nword\n")
	for _, bad := range []string{"a|b", "[x](javascript:a)", "`x`", "<b>", "@team", "&#64;team", "#1", "GH-1",
		"https://evil.example", "**x**", "~~x~~", "![i](x)"} {
		if markdownShape("### a\n\n| x | y |\n|--|--|\n| "+bad+" | 1 |\n\nword\n") == harmless &&
			!strings.Contains(bad, "|") {
			// GFM drops what is beyond the head
			t.Errorf("%q in a table is not seen", bad)
		}
		if markdownShape("### a\n\n| x | y |\n|--|--|\n| word | 1 |\n\n"+bad+"\n") == harmless && bad != "a|b" {
			t.Errorf("%q in a line is not seen", bad)
		}
	}
	for _, bad := range []string{"word\n\n# heading", "> quote", "```\nfence\n```", "word\n===", "- list", "<!-- x"} {
		if markdownShape("### a\n\n| x | y |\n|--|--|\n| word | 1 |\n\n"+bad+"\n") == harmless {
			t.Errorf("%q as a block is not seen", bad)
		}
	}
}
