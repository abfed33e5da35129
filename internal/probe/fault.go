package probe

import (
	"maps"
	"regexp"
	"slices"

	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/untrusted"
	"github.com/pipetune/pipetune/pkg/report"
)

// faults are the items and files that could not be read so far. They are not read again, whichever probe met them.
type faults struct {
	items  map[spot]bool
	files  map[string]bool  // none of their items is read
	known  map[trouble]bool // which files count in which row
	rows   map[string]int   // in Result.Unread, by the kind of trouble, of damage by its wording too
	deaths int              // of worker processes
}

// clone is a copy that can grow apart.
func (f faults) clone() faults {
	f.items, f.files, f.known, f.rows = maps.Clone(f.items), maps.Clone(f.files), maps.Clone(f.known),
		maps.Clone(f.rows)
	return f
}

// spot is an item, whichever sample it is in.
type spot struct {
	path      string
	index, at int64
}

type trouble struct{ path, row string }

// mostDamages is how many rows there may be before damage that is worded in yet another way counts together.
const mostDamages = 8

// note takes failures of a sample into account, and counts their files in the result by the kind of trouble.
func (s *session) note(sample *dataset.Sample, failures []dataset.Failure) {
	for _, f := range failures {
		switch {
		case f.Item >= 0 && f.Item < len(sample.Items):
			if where := spotOf(sample, sample.Items[f.Item]); !s.faults.items[where] {
				s.faults.items[where] = true
				s.blame(where.path, f.Class, f.Text, amongOthers(sample.Items, f.Item))
			}
		case f.Item < 0 && f.File >= 0 && f.File < len(sample.Files):
			s.exclude(string(sample.Files[f.File].Path), f.Class, f.Text)
		}
	}
}

// exclude has no item of a file read any more.
func (s *session) exclude(path string, c dataset.Trouble, text string) {
	s.faults.files[path] = true
	s.blame(path, c, text, false)
}

// amongOthers reports whether an item's file has other items in the sample, which lie beside it.
func amongOthers(items []dataset.Ref, i int) bool {
	return i > 0 && items[i-1].File == items[i].File || i+1 < len(items) && items[i+1].File == items[i].File
}

// blame counts a file as unread, once for each kind of trouble; or, apart from these, an item among others of its file.
func (s *session) blame(path string, c dataset.Trouble, text string, item bool) {
	of := ""
	if item {
		of = "items: "
	}
	alike, reason := of+string(c), string(c)+": "+untrusted.Cut(text, 200).String()
	if c == dataset.Corrupt {
		alike = of + wording(reason)
		if _, known := s.faults.rows[alike]; !known && len(s.faults.rows) >= mostDamages {
			alike, reason = of+string(c), string(c)+" in other ways"
		}
	}
	row, found := s.faults.rows[alike]
	if !found {
		row = len(s.result.Unread)
		s.faults.rows[alike] = row
		s.result.Unread = append(s.result.Unread, report.Unread{Reason: reason,
			Example: untrusted.String(path).String()})
	}
	if item {
		s.result.Unread[row].Items++
	}
	if file := (trouble{path, alike}); !s.faults.known[file] {
		s.faults.known[file] = true
		s.result.Unread[row].Count++
	}
}

// sound leaves out the items that could not be read before.
func (s *session) sound(sample *dataset.Sample, items []int) []int {
	if len(s.faults.items)+len(s.faults.files) == 0 {
		return items
	}
	return slices.DeleteFunc(slices.Clone(items), func(i int) bool {
		where := spotOf(sample, sample.Items[i])
		return s.faults.items[where] || s.faults.files[where.path]
	})
}

var numbers = regexp.MustCompile(`[0-9]+`)

// wording is what a message says without its figures: two pictures cut at different bytes are damaged alike.
func wording(text string) string { return numbers.ReplaceAllString(text, "#") }

func spotOf(sample *dataset.Sample, ref dataset.Ref) spot {
	return spot{string(sample.Files[ref.File].Path), ref.Index, ref.At}
}
