// Package document builds what a person reads of a report or a comparison, before it has a format: an answer,
// sections, and how it was measured. A terminal, a pull request, a page and a live view show the same document.
//
// Everything that is computed or put into words for people is decided here, once: which figures stand in a table and
// in what order, how a figure and its interval read, how long a bar is. A writer of a format (package render) decides
// where it stands and escapes it, and computes nothing. Strings of a document are raw: what comes from a report may
// hold anything, and each writer makes all of them safe.
package document

import (
	"slices"

	"github.com/pipetune/pipetune/pkg/report"
)

// Document is what a person reads, in the order they read it.
type Document struct {
	Key      string // what kind of document this is, for a bot that updates its own comment: "diagnose:v1"
	Title    string // one line
	Tone     Tone
	Subject  string  // what was watched, in a line; "" where that is said elsewhere
	More     string  // what the supporting sections have, where the main ones are enough to act; else ""
	Trust    *Trust  // what has to be known before the answer is believed; nil where nothing has
	Answer   *Answer // nil where the report has none
	Sections []Section
	Try      string   // a DataLoader call with the settings to try; "" where there are none
	Next     []string // shell commands worth running next
	Method   []string // how it was measured, and what that cost
	Setup    []string // on which machine, of which job, with which libraries
	Origin   string   // what made the document
}

// Tone is how good or bad something is. It comes beside words that say the same, never in their place.
type Tone int

// The tones.
const (
	Plain Tone = iota
	Good
	Caution
	Bad
)

// Answer is what a reader looks for first.
type Answer struct {
	Label    string // "Verdict" or "Result"
	Headline string // the whole answer in one line
	Aside    string // how sure it is: "confidence: high"
	Short    string // the answer in a few words
	Why      string
	Figure   string // the figure it rests on, with interval and test, where that stands in no sentence
	Lines    []Line
}

// Line is a line with a name in front. One with a tone must not be overlooked.
type Line struct {
	Label, Text string
	Tone        Tone
	Copy        string // a shell command that goes with it
}

// Trust says whether figures may be held against each other.
type Trust struct {
	Label  string // "Comparable"
	Text   string // "with care: more differs than the settings"
	Tone   Tone
	Points []report.Condition
}

// Weight says who needs a section.
type Weight int

// The weights.
const (
	Main       Weight = iota // every reader
	Supporting               // who asks why: folded away where a format can fold
	Reference                // who looks for one figure: only where a format can fold
	Drawn                    // who looks at pictures: only where a format draws
)

// Section is one part of a document.
type Section struct {
	Title  string // "" where the part speaks for itself
	About  string // what holds for the whole section
	Weight Weight
	Parts  []Part
}

// Empty reports whether a section has nothing to show.
func (s Section) Empty() bool { return len(s.Parts) == 0 }

func (s *Section) add(parts ...Part) {
	s.Parts = append(s.Parts, slices.DeleteFunc(parts, func(p Part) bool { return p.empty() })...)
}

func section(title, about string, w Weight, parts ...Part) Section {
	s := Section{Title: title, About: about, Weight: w}
	s.add(parts...)
	return s
}

func (d *Document) add(sections ...Section) {
	d.Sections = append(d.Sections, slices.DeleteFunc(sections, Section.Empty)...)
}
