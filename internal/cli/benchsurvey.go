package cli

import (
	"context"
	"errors"
	"os"
	"sort"
	"time"

	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/untrusted"
)

// How long the survey of the dataset may take: as long as measuring may, within these. A million files on a local disk
// take some seconds; on a slower one the walk stops there, and what was counted is said to be a lower bound. A child
// that has not answered surveyGrace later hangs.
const (
	leastSurvey = 10 * time.Second
	mostSurvey  = 30 * time.Second
	surveyGrace = 5 * time.Second
)

// maxCrashing is how many files that end the process that looks at them are named and avoided; a dataset with more of
// them is damaged.
const maxCrashing = 8

// surveyWithProgress asks whether the dataset answers, and surveys it, telling the person that it goes on.
func (b *bench) surveyWithProgress(ctx context.Context, paths *isolate.Paths) (dataset.SurveyResult, error) {
	progress := newProgress(b.env, b.o.quiet, b.surveyLimit(), surveyProgress())
	defer progress.done()
	defer progress.follow()()
	if err := b.answers(ctx, paths); err != nil {
		return dataset.SurveyResult{}, err
	}
	return b.survey(ctx)
}

// survey walks the dataset in a child process. A file that ends the child is found, named among the unread ones and
// avoided.
func (b *bench) survey(ctx context.Context) (dataset.SurveyResult, error) {
	var avoid [][]byte
	for {
		found, err := b.surveyWithout(ctx, avoid, false)
		if err != nil && errors.As(err, new(*isolate.DeathError)) && len(avoid) < maxCrashing {
			culprit := b.crashingFile(ctx, avoid)
			if culprit != nil {
				avoid = append(avoid, culprit)
				continue
			}
		}
		return found, err
	}
}

// surveyLimit is how long one look at the dataset may take.
func (b *bench) surveyLimit() time.Duration { return min(max(b.o.budget, leastSurvey), mostSurvey) }

func (b *bench) surveyWithout(ctx context.Context, avoid [][]byte, walkOnly bool) (dataset.SurveyResult, error) {
	limit := b.surveyLimit()
	spec := isolate.Spec{Task: dataset.SurveyTask, Key: b.key, Timeout: limit + surveyGrace,
		Limits: isolate.Limits{MemoryBytes: dataset.SurveyMemory, CPUSeconds: 120}}
	if !b.o.follow {
		spec.Only = dataset.Reach(b.path)
	}
	answer, err := isolate.Call[dataset.SurveyRequest, dataset.SurveyAnswer](ctx, b.runner, spec,
		dataset.SurveyRequest{Path: []byte(b.path), Options: dataset.SurveyOptions{
			Seed: b.o.seed, Dataset: b.o.dataset, ItemShape: b.o.shape, BlockBytes: b.o.block, Follow: b.o.follow,
			Limit: limit, Avoid: avoid, WalkOnly: walkOnly}})
	if err == nil {
		err = answer.Refused.Err()
	}
	return answer.Result, err
}

// crashingFile finds a file that ends the child, by halves: looks at the first files drawn only, until one more of them
// makes the difference. nil where it cannot be determined.
func (b *bench) crashingFile(ctx context.Context, avoid [][]byte) []byte {
	walked, err := b.surveyWithout(ctx, avoid, true)
	if err != nil {
		return nil
	}
	files := walked.Sample.Files
	dies := func(n int) bool { // with the first n files looked at
		without := append([][]byte{}, avoid...)
		for _, f := range files[n:] {
			without = append(without, f.Path)
		}
		_, err := b.surveyWithout(ctx, without, false)
		return errors.As(err, new(*isolate.DeathError))
	}
	if len(files) < 2 || !dies(len(files)) {
		return nil
	}
	n := sort.Search(len(files), dies)
	if n == 0 || n > len(files) {
		return nil
	}
	return files[n-1].Path
}

// surveyFailure says why the dataset cannot be measured.
func (b *bench) surveyFailure(err error) error {
	name := untrusted.Path(b.o.path, b.redact)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fail(exitUsage, "", "%s: no such file or folder", name)
	case errors.Is(err, os.ErrPermission):
		return fail(exitNotMeasured, "run pipetune as a user who may read it", "%s: permission denied", name)
	case errors.As(err, new(*isolate.TimeoutError)), errors.As(err, new(*isolate.StuckError)):
		return fail(exitNotMeasured, "check that the server behind the mount "+untrusted.Path(b.key, b.redact)+
			" is reachable", "%s: the file system does not answer", name)
	case errors.As(err, new(*isolate.DeathError)):
		return fail(exitNotMeasured, "the file may be damaged: h5ls or h5dump may say more",
			"looking at %s ended the process that looked: %w", name, err)
	case errors.Is(err, context.Canceled):
		return b.interrupted()
	case errors.Is(err, dataset.ErrNoDataset) && b.o.dataset != "":
		return fail(exitUsage, "", "%s: --dataset %s: %w", name, b.o.dataset, err)
	case errors.Is(err, dataset.ErrItemShape):
		return fail(exitUsage, "", "%s: %w", name, err)
	case errors.Is(err, dataset.ErrOutside):
		return fail(exitNotMeasured, "add --follow to read what the file names outside of itself", "%s: %w", name, err)
	}
	return fail(exitNotMeasured, "", "%s: %w", name, err)
}
