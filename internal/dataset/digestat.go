package dataset

import (
	"context"
	"time"

	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/untrusted"
)

// LookLimit is how long one look at a dataset may take: a folder on a loaded disk lists in well under a second, and a
// person should hear of a mount that hangs within 5 s.
const LookLimit = 5 * time.Second

// DigestAt says what the items of a dataset are, of a folder where it has no name, in a child of its own, which ends
// with the answer: reading them may end one that describing the file does not. It is "" where that cannot be
// determined; then `compare` goes by the dataset's path and size.
func DigestAt(ctx context.Context, runner *isolate.Runner, key, path string, what DigestRequest) string {
	what.Path = []byte(path)
	spec := isolate.Spec{Task: DigestTask, Key: key, Timeout: LookLimit, Only: Reach(path)}
	items, err := isolate.Call[DigestRequest, string](ctx, runner, spec, what)
	if err != nil {
		return ""
	}
	return untrusted.Sanitize(items)
}
