package render

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/document"
	"github.com/pipetune/pipetune/pkg/report"
)

// A name that says that its figure is inferred is long: it must not touch the figure, nor make the line longer.
func TestLongNamesKeepClearOfTheirFigures(t *testing.T) {
	r := &report.Report{Metrics: map[string]report.Metric{
		"samples_per_s":    {Center: 281, Lo: 212, Hi: 351, Confidence: 0.95, Unit: "1/s", Basis: report.Inferred},
		"read_bytes_per_s": {Center: 2642, Lo: 2028, Hi: 3297, Confidence: 0.95, Unit: "B/s", Basis: report.Measured},
		"step_time_s":      {Center: 0.114, Lo: 0.0912, Hi: 0.151, Confidence: 0.95, Unit: "s", Basis: report.Measured},
		"free_step_time_s": {Center: 0.0356, Unit: "s", Basis: report.Modelled},
	}}
	got := textOf(t, r)
	if want := "Throughput, samples (inferred) 281 /s "; !strings.Contains(got, want) {
		t.Errorf("no %q in\n%s", want, got)
	}
	checkWidth(t, Report(r), got, usual)
}

// Where all names fit the columns stay where readers of earlier reports find them.
func TestFigureColumnsStayWhereNamesFit(t *testing.T) {
	rows := document.Figures{{Name: "Trainer waits for data", Now: "73 %", Interval: "68 – 78 %"}}
	if got := figureWidths(rows); got != [3]int{26, 13, 20} {
		t.Errorf("%v", got)
	}
}

func TestColumns(t *testing.T) {
	for s, want := range map[visible]int{"": 0, "abc": 3, "µ–→×✗…": 6, "数据": 4, "e\u0301": 1, "한글": 4, "ﾊﾝ": 2,
		"🐘": 2} {
		if got := columns(s); got != want {
			t.Errorf("columns(%q) = %d, want %d", s, got, want)
		}
	}
}

func TestCutKeepsBothEnds(t *testing.T) {
	for _, c := range []struct {
		s    visible
		n    int
		want visible
	}{
		{"/data/train.h5", 14, "/data/train.h5"}, {"/data/a/long/way/down/train.h5", 14, "/dat…/train.h5"},
		{"数据数据数据数据", 9, "数…据数据"}, {"abc", 2, "a…"}, {"", 0, ""},
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
		text visible
		n    int
		want []visible
	}{
		{"", 4, nil}, {"a b", 3, []visible{"a b"}}, {"aa bb", 3, []visible{"aa", "bb"}},
		{"a bbbbbbbb cc", 3, []visible{"a", "bbb", "bbb", "bb", "cc"}}, {"数据数 a", 4, []visible{"数据", "数 a"}},
	} {
		if d := cmp.Diff(c.want, wrap(c.text, c.n)); d != "" {
			t.Errorf("wrap(%q, %d): %s", c.text, c.n, d)
		}
	}
}

// TestTableFitsThePage: the widest column is broken into lines, columns are left out where a page is narrow, a bar is
// drawn where there is room, a command is never cut.
func TestTableFitsThePage(t *testing.T) {
	row := func(share float64, command string, texts ...string) document.Row {
		r := document.Row{Share: share, Copy: command}
		for _, text := range texts {
			r.Cells = append(r.Cells, document.Cell{Text: text})
		}
		return r
	}
	p := newPage(Options{})
	long := "h5repack " + strings.Repeat("x", 200)
	p.Table(&document.Table{Columns: []document.Column{{Name: "name"}, {Name: "n", Right: true}},
		Rows: []document.Row{row(0, long, strings.Repeat("wide ", 40), "12"), row(0, "", "b", "3")}})
	lines := strings.Split(strings.TrimRight(p.b.String(), "\n"), "\n")
	if len(lines) != 6 || lines[4] != "      "+long || strings.Count(p.b.String(), "wide") != 40 {
		t.Fatalf("%q", lines)
	}
	for i, l := range lines {
		if i != 4 && columns(visible(l)) > usual {
			t.Errorf("%d columns: %s", columns(visible(l)), l)
		}
	}
	p = newPage(Options{Width: narrowest})
	p.Table(&document.Table{Columns: []document.Column{{Name: "name"}, {Name: "one", Right: true},
		{Name: "two", Right: true}, {Name: "three", Right: true}},
		Rows: []document.Row{row(0, "", "random warm", "16.6 – 17.1 ms", "16.6 – 17.1 ms", "16.6 – 17.1 ms"),
			row(0, "", "sequentially", "1 – 2 milliseconds", "3", "4")}})
	if got := p.b.String(); strings.Contains(got, "…") || !strings.Contains(got, "16.6 – 17.1 ms 16.6 – 17.1 ms\n") ||
		!strings.HasSuffix(got, " a wider terminal also has: three\n") {
		t.Errorf("narrow: %s", got)
	}
	p = newPage(Options{})
	p.Table(&document.Table{Columns: []document.Column{{Name: "n", Right: true}},
		Rows: []document.Row{row(0.5, "", "1"), row(1, "", "2")}})
	if got := p.b.String(); !strings.Contains(got, "  1  ##########\n") ||
		!strings.Contains(got, "  2  ####################\n") {
		t.Errorf("bars: %q", got)
	}
}

func TestProse(t *testing.T) {
	const given = `## What it means
One sentence that goes on for longer than a terminal without a width is wide, and a second
line.

    DataLoader(dataset, batch_size=64, num_workers=8, persistent_workers=True, pin_memory=True, prefetch_factor=4)

- a point that goes on for longer than a terminal without a width is wide, and one more word
`
	const want = `## What it means
One sentence that goes on for longer than a terminal without a width is wide,
and a second line.

    DataLoader(dataset, batch_size=64, num_workers=8, persistent_workers=True, pin_memory=True, prefetch_factor=4)

- a point that goes on for longer than a terminal without a width is wide, and
  one more word
`
	if got := Prose(given); got != want {
		t.Errorf("%s", got)
	}
	if got := Wrapped("ok       name  ", ""); got != "ok       name\n" {
		t.Errorf("%q", got)
	}
}
