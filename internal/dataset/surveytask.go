package dataset

import (
	"context"
	"errors"

	"github.com/pipetune/pipetune/internal/hdf5"
	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/untrusted"
)

// SurveyTask is the name under which a child process offers SurveyHandler.
const SurveyTask = "survey"

// SurveyMemory is what a child with that task may map of memory: looking takes some 30 MiB, and libhdf5 takes all that
// it is given for a few false bytes in the header of a group.
const SurveyMemory = 512 << 20

// SurveyRequest asks for a survey of one path, as raw bytes. The path must be absolute: a child has a working folder of
// its own. The time limit of the child must be longer than that in the options.
type SurveyRequest struct {
	Path    []byte
	Options SurveyOptions
}

// SurveyAnswer is what was found and, where there is nothing to read, why.
type SurveyAnswer struct {
	Result  SurveyResult
	Refused SurveyRefusal `json:",omitzero"`
}

// SurveyRefusal says why there is nothing to read. Its zero value says that there is.
type SurveyRefusal struct {
	Cause  string         // one of refusals
	Reason untrusted.Text // one line for a person
}

// refusals are the errors of Survey that survive the way out of the child process. Where an error is two of them, the
// first counts.
var refusals = []struct {
	cause string
	err   error
}{
	{"no-data", ErrNoData},
	{"no-files", ErrNoFiles},
	{"no-dataset", ErrNoDataset},
	{"outside", ErrOutside},
	{"item-shape", ErrItemShape},
	{"no-items", ErrNoItems},
	{"not-hdf5", hdf5.ErrNotHDF5},
	{"truncated", hdf5.ErrTruncated},
	{"newer", hdf5.ErrNewer},
	{"being-written", hdf5.ErrBeingWritten},
	{"unreadable", hdf5.ErrUnreadable},
}

// refusalOf words an error that is one of refusals, in so many bytes at most.
func refusalOf(err error, most int) (SurveyRefusal, bool) {
	for _, r := range refusals {
		if errors.Is(err, r.err) {
			return SurveyRefusal{Cause: r.cause, Reason: untrusted.Cut(err.Error(), most)}, true
		}
	}
	return SurveyRefusal{}, false
}

// Err returns the refusal as the error that Survey returned, nil for the zero value.
func (r SurveyRefusal) Err() error {
	if r.Cause == "" {
		return nil
	}
	for _, known := range refusals {
		if known.cause == r.Cause {
			return &refusedError{r.Reason.String(), known.err}
		}
	}
	return errors.New(r.Reason.String())
}

// refusedError has the reason for its text, which names the cause already.
type refusedError struct {
	reason string
	cause  error
}

func (e *refusedError) Error() string { return e.reason }
func (e *refusedError) Unwrap() error { return e.cause }

// SurveyHandler answers one SurveyRequest with a SurveyAnswer. It is to run in a child process. Its error is one of the
// file system (no such file, permission denied); what the dataset itself is to blame for is in SurveyAnswer.Refused.
var SurveyHandler = isolate.Decoded(func(_ context.Context, r SurveyRequest) (any, error) {
	result, err := Survey(string(r.Path), r.Options)
	if err == nil {
		return SurveyAnswer{Result: result}, nil
	}
	if refused, ok := refusalOf(err, 1000); ok {
		return SurveyAnswer{Result: result, Refused: refused}, nil
	}
	return nil, err
})
