package saved

import (
	"errors"
	"io"
)

// Recording is a recording being written: whole lines under a temporary name, renamed at the end. Where a write fails
// the torn line is taken back, so that what is there can be read.
type Recording struct {
	draft *Draft
	good  int64 // bytes of whole lines
	err   error
}

// CreateRecording makes a file for a recording, which gets the name path.
func CreateRecording(path string) (*Recording, error) {
	d, err := Create(path)
	if err != nil {
		return nil, err
	}
	return &Recording{draft: d}, nil
}

// Write implements io.Writer; each call holds whole lines.
func (r *Recording) Write(b []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	n, err := r.draft.Write(b)
	if err != nil {
		_, seekErr := r.draft.Seek(r.good, io.SeekStart)
		r.err = errors.Join(Plain(err), r.draft.Truncate(r.good), seekErr)
		return 0, r.err
	}
	r.good += int64(n)
	return n, nil
}

// KeptError is that of a recording which could not be written to its end: what was recorded until then is in the file
// Kept.
type KeptError struct {
	Kept string
	error
}

// Unwrap implements what errors.Is asks for.
func (e *KeptError) Unwrap() error { return e.error }

// Finish gives the recording its name. After a failed write its error is a *KeptError.
func (r *Recording) Finish() error {
	if r.err != nil {
		return &KeptError{r.draft.Name(), errors.Join(r.err, r.draft.Close())}
	}
	return r.draft.Settle(nil)
}

// Drop removes the recording: nothing was measured.
func (r *Recording) Drop() error { return r.draft.Drop() }
