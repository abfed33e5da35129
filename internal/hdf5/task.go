package hdf5

import (
	"context"
	"encoding/json"
	"fmt"
)

// Task is the name under which a child process offers Handler.
const Task = "hdf5"

// Request asks for the layout of one file. The path is raw bytes, because a path need not be valid UTF-8.
type Request struct{ Path []byte }

// Handler answers one Request with the File that Layout gives within DefaultLimits. It is to run in a child process.
func Handler(_ context.Context, body json.RawMessage) (any, error) {
	var request Request
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, fmt.Errorf("decoding a request for an HDF5 layout: %w", err)
	}
	return Layout(string(request.Path), DefaultLimits())
}
