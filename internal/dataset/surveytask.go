package dataset

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/pipetune/pipetune/internal/hdf5"
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
type SurveyRefusal struct{ hdf5.Refused }

// refusals are the errors of Survey that survive the way out of the child process.
var refusals = hdf5.Causes{
	{Cause: "no-data", Err: ErrNoData},
	{Cause: "no-files", Err: ErrNoFiles},
	{Cause: "no-dataset", Err: ErrNoDataset},
	{Cause: "outside", Err: ErrOutside},
	{Cause: "item-shape", Err: ErrItemShape},
	{Cause: "no-items", Err: ErrNoItems},
	{Cause: hdf5.CauseNotHDF5, Err: hdf5.ErrNotHDF5},
	{Cause: hdf5.CauseTruncated, Err: hdf5.ErrTruncated},
	{Cause: hdf5.CauseNewer, Err: hdf5.ErrNewer},
	{Cause: hdf5.CauseBeingWritten, Err: hdf5.ErrBeingWritten},
	{Cause: hdf5.CauseUnreadable, Err: hdf5.ErrUnreadable},
}

// Err returns the refusal as the error that Survey returned, nil for the zero value.
func (r SurveyRefusal) Err() error { return refusals.Undo(r.Refused) }

// SurveyHandler answers one SurveyRequest with a SurveyAnswer. It is to run in a child process. Its error is one of the
// file system (no such file, permission denied); what the dataset itself is to blame for is in SurveyAnswer.Refused.
func SurveyHandler(_ context.Context, body json.RawMessage) (any, error) {
	var request SurveyRequest
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, fmt.Errorf("decoding a request for a survey: %w", err)
	}
	result, err := Survey(string(request.Path), request.Options)
	if err == nil {
		return SurveyAnswer{Result: result}, nil
	}
	if refused, ok := refusals.Refuse(err, 1000); ok {
		return SurveyAnswer{Result: result, Refused: SurveyRefusal{refused}}, nil
	}
	return nil, err
}
