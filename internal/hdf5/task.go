package hdf5

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pipetune/pipetune/internal/untrusted"
)

// Task is the name under which a child process offers Handler.
const Task = "hdf5"

// Request asks for the layout of one file. The path is raw bytes, because a path need not be valid UTF-8.
type Request struct {
	Path   []byte
	Limits *Limits `json:",omitempty"` // nil for DefaultLimits
}

// Answer is a layout, or the reason why there is none.
type Answer struct {
	File    File
	Refused Refused `json:",omitzero"`
}

// Refused says why a file was not described. Its zero value says that it was.
type Refused struct {
	Cause  Cause
	Reason untrusted.Text // one line for a person
}

// Cause names one of the errors of Layout so that it survives the way out of the child process.
type Cause string

const (
	CauseNotHDF5      Cause = "not-hdf5"
	CauseTruncated    Cause = "truncated"
	CauseNewer        Cause = "newer"
	CauseBeingWritten Cause = "being-written"
	CauseUnreadable   Cause = "unreadable"
)

// Causes are errors that survive the way out of a child process, by their names. Where an error is two of them, the
// first counts.
type Causes []struct {
	Cause Cause
	Err   error
}

var causes = Causes{
	{CauseNotHDF5, ErrNotHDF5},
	{CauseTruncated, ErrTruncated},
	{CauseNewer, ErrNewer},
	{CauseBeingWritten, ErrBeingWritten},
	{CauseUnreadable, ErrUnreadable},
}

// Refuse words an error that is one of the causes, in so many bytes at most.
func (list Causes) Refuse(err error, most int) (Refused, bool) {
	for _, c := range list {
		if errors.Is(err, c.Err) {
			return Refused{Cause: c.Cause, Reason: untrusted.Cut(err.Error(), most)}, true
		}
	}
	return Refused{}, false
}

// Undo returns a refusal as the error that it was, nil for the zero value.
func (list Causes) Undo(r Refused) error {
	if r.Cause == "" {
		return nil
	}
	for _, c := range list {
		if c.Cause == r.Cause {
			return &refusal{cause: c.Err, reason: r.Reason.String()}
		}
	}
	return errors.New(r.Reason.String())
}

// Err returns the refusal as the error that Layout returned, nil for the zero value.
func (r Refused) Err() error { return causes.Undo(r) }

// refusal is the error of a Refused: its text is the reason, which names the cause already.
type refusal struct {
	cause  error
	reason string
}

func (r *refusal) Error() string { return r.reason }
func (r *refusal) Unwrap() error { return r.cause }

// Handler answers one Request with an Answer. It is to run in a child process. Its error is one of the file system
// (no such file, permission denied); what the file itself is to blame for is in Answer.Refused.
func Handler(_ context.Context, body json.RawMessage) (any, error) {
	var request Request
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, fmt.Errorf("decoding a request for an HDF5 layout: %w", err)
	}
	limits := DefaultLimits()
	if request.Limits != nil {
		limits = *request.Limits
	}
	file, err := Layout(string(request.Path), limits)
	if err == nil {
		return Answer{File: file}, nil
	}
	if refused, ok := causes.Refuse(err, 300); ok {
		return Answer{Refused: refused}, nil
	}
	return nil, err
}
