// Package patch turns recommended settings into a change of the person's source: a unified diff, never an edited file.
//
// The source is read and parsed by the job's own interpreter (ast), in a process of its own; what would not parse afterwards is not offered.
package patch

import (
	"context"

	"github.com/pipetune/pipetune/pkg/report"
)

// Setting is one recommended value.
type Setting struct {
	Name string // a parameter of DataLoader: "num_workers"
	To   string // as Python writes it: "6", "True", "\"fork\""
}

// Request says what to change where.
type Request struct {
	Python   string // the interpreter that ran the job
	File     string // absolute
	Line     int    // a line of the DataLoader call
	Folder   string // names in the diff are relative to it where File lies below it
	Settings []Setting
}

// Make makes the patch. The names and text in it are as they are, not redacted. The error says what could not be read or parsed.
func Make(ctx context.Context, r Request) (report.Patch, error) { panic("patch helper") }
