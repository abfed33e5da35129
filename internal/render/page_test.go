package render

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestColumns(t *testing.T) {
	for s, want := range map[string]int{"": 0, "abc": 3, "µ–→×✗…": 6, "数据": 4, "e\u0301": 1, "한글": 4, "ﾊﾝ": 2, "🐘": 2} {
		if got := columns(s); got != want {
			t.Errorf("columns(%q) = %d, want %d", s, got, want)
		}
	}
}

func TestCutKeepsBothEnds(t *testing.T) {
	for _, c := range []struct {
		s    string
		n    int
		want string
	}{
		{"/data/train.h5", 14, "/data/train.h5"}, {"/data/a/long/way/down/train.h5", 14, "/dat…/train.h5"}, {"数据数据数据数据", 9, "数…据数据"}, {"abc", 2, "a…"}, {"", 0, ""},
	} {
		got := cut(c.s, c.n)
		if got != c.want {
			t.Errorf("cut(%q, %d) = %q, want %q", c.s, c.n, got, c.want)
		}
		if columns(got) > max(c.n, columns(c.want)) {
			t.Errorf("cut(%q, %d) has %d columns", c.s, c.n, columns(got))
		}
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want []string
	}{
		{"", 4, nil}, {"a b", 3, []string{"a b"}}, {"aa bb", 3, []string{"aa", "bb"}}, {"a bbbbbbbb cc", 3, []string{"a", "bbb", "bbb", "bb", "cc"}}, {"数据数 a", 4, []string{"数据", "数 a"}},
	} {
		if d := cmp.Diff(c.want, wrap(c.text, c.n)); d != "" {
			t.Errorf("wrap(%q, %d): %s", c.text, c.n, d)
		}
	}
}

// TestTableFitsThePage: the widest column gives way, a bar is drawn where there is room, a command is never cut.
func TestTableFitsThePage(t *testing.T) {
	p := &page{}
	long := "h5repack " + strings.Repeat("x", 200)
	p.section(section{title: "T", columns: []column{{"name", false}, {"n", true}}, rows: []entry{{cells: []string{strings.Repeat("wide ", 40), "12"}, copy: long}, {cells: []string{"b", "3"}}}})
	lines := strings.Split(strings.TrimSpace(p.b.String()), "\n")
	if len(lines) != 5 || lines[3] != "      "+long {
		t.Fatalf("%q", lines)
	}
	for i, l := range lines {
		if i != 3 && columns(l) > width {
			t.Errorf("%d columns: %s", columns(l), l)
		}
	}
	p = &page{}
	p.section(section{title: "T", columns: []column{{"n", true}}, rows: []entry{{cells: []string{"1"}, share: 0.5}, {cells: []string{"2"}, share: 1}}})
	if got := p.b.String(); !strings.Contains(got, "  1  ##########\n") || !strings.Contains(got, "  2  ####################\n") {
		t.Errorf("bars: %q", got)
	}
}

func TestEmptySectionIsNotShown(t *testing.T) {
	p := &page{}
	p.section(section{title: "T", about: "a", columns: []column{{"n", true}}})
	if p.b.Len() > 0 || mdSection(section{title: "T"}) != "" {
		t.Errorf("%q", p.b.String())
	}
}
