package dataset

import (
	"context"
	"encoding/json"
	"fmt"
)

// Task is the name under which a child process offers Handler.
const Task = "dataset"

// Request asks what lies at one path, as raw bytes: a path need not be valid UTF-8.
type Request struct{ Path []byte }

// Handler answers one Request with a Description. It is to run in a child process. Its error is that of Describe.
func Handler(_ context.Context, body json.RawMessage) (any, error) {
	var request Request
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, fmt.Errorf("decoding a request about a dataset: %w", err)
	}
	return Describe(string(request.Path))
}
