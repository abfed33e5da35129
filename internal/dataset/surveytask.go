package dataset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pipetune/pipetune/internal/hdf5"
	"github.com/pipetune/pipetune/internal/untrusted"
)

// SurveyTask is the name under which a child process offers SurveyHandler.
const SurveyTask = "survey"

// SurveyMemory is what a child with that task may map of memory: looking takes some 30 MiB, and libhdf5 takes all that it is given for a few
// false bytes in the header of a group.
const SurveyMemory = 512 << 20

// SurveyRequest asks for a survey of one path, as raw bytes. The path must be absolute: a child has a working folder of its own. The time
// limit of the child must be longer than that in the options.
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
	Cause  string
	Reason untrusted.Text // one line for a person
}

// refusals are the errors of Survey that survive the way out of the child process. Where an error is two of them, the first counts.
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
	{string(hdf5.CauseNotHDF5), hdf5.ErrNotHDF5},
	{string(hdf5.CauseTruncated), hdf5.ErrTruncated},
	{string(hdf5.CauseNewer), hdf5.ErrNewer},
	{string(hdf5.CauseBeingWritten), hdf5.ErrBeingWritten},
	{string(hdf5.CauseUnreadable), hdf5.ErrUnreadable},
}

// Err returns the refusal as the error that Survey returned, nil for the zero value.
func (r SurveyRefusal) Err() error {
	for _, c := range refusals {
		if c.cause == r.Cause {
			return &surveyRefusal{cause: c.err, reason: r.Reason.String()}
		}
	}
	if r.Cause != "" {
		return errors.New(r.Reason.String())
	}
	return nil
}

// surveyRefusal is the error of a SurveyRefusal: its text is the reason, which names the cause already.
type surveyRefusal struct {
	cause  error
	reason string
}

func (r *surveyRefusal) Error() string { return r.reason }
func (r *surveyRefusal) Unwrap() error { return r.cause }

// SurveyHandler answers one SurveyRequest with a SurveyAnswer. It is to run in a child process. Its error is one of the file system (no
// such file, permission denied); what the dataset itself is to blame for is in SurveyAnswer.Refused.
func SurveyHandler(_ context.Context, body json.RawMessage) (any, error) {
	var request SurveyRequest
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, fmt.Errorf("decoding a request for a survey: %w", err)
	}
	result, err := Survey(string(request.Path), request.Options)
	if err == nil {
		return SurveyAnswer{Result: result}, nil
	}
	for _, c := range refusals {
		if errors.Is(err, c.err) {
			return SurveyAnswer{Result: result, Refused: SurveyRefusal{Cause: c.cause, Reason: untrusted.Cut(err.Error(), 1000)}}, nil
		}
	}
	return nil, err
}
