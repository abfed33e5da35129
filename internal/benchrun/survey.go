package benchrun

import (
	"context"
	"errors"
	"slices"
	"sort"
	"syscall"
	"time"

	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/isolate"
)

// How long the survey of the dataset may take: as long as measuring may, within these. A million files on a local disk
// take some seconds; on a slower one the walk stops there, and what was counted is said to be a lower bound. A child
// that has not answered surveyGrace later hangs.
const (
	leastSurvey = 10 * time.Second
	mostSurvey  = 30 * time.Second
	surveyGrace = 5 * time.Second
)

// maxCrashing is how many files that end their process are named and avoided; with more, the dataset is damaged.
const maxCrashing = 8

// Survey asks whether the dataset answers, and surveys it. Its error may be one of package isolate: the dataset does
// not answer, or ended the child that looked at it.
func (r *Run) Survey(ctx context.Context) (err error) {
	if err := r.answers(ctx); err != nil {
		return err
	}
	r.found, err = r.survey(ctx)
	r.Layout = r.found.Access
	return err
}

// survey walks the dataset in a child process. A file that ends the child is named as unread and avoided.
func (r *Run) survey(ctx context.Context) (dataset.SurveyResult, error) {
	var avoid [][]byte
	for {
		found, err := r.surveyWithout(ctx, avoid, false)
		if !errors.As(err, new(*isolate.DeathError)) || len(avoid) == maxCrashing {
			return found, err
		}
		culprit := r.crashingFile(ctx, avoid)
		if culprit == nil {
			return found, err
		}
		avoid = append(avoid, culprit)
	}
}

// SurveyLimit is how long one look at the dataset may take.
func (r *Run) SurveyLimit() time.Duration { return min(max(r.Budget, leastSurvey), mostSurvey) }

func (r *Run) surveyWithout(ctx context.Context, avoid [][]byte, walkOnly bool) (dataset.SurveyResult, error) {
	limit := r.SurveyLimit()
	spec := isolate.Spec{Task: dataset.SurveyTask, Key: r.Key, Timeout: limit + surveyGrace,
		Limits: isolate.Limits{MemoryBytes: dataset.SurveyMemory, CPUSeconds: 120}}
	if !r.Look.Follow {
		spec.Only = dataset.Reach(r.Path)
	}
	look := r.Look
	look.Seed, look.Limit, look.Avoid, look.WalkOnly = r.Seed, limit, avoid, walkOnly
	answer, err := isolate.Call[dataset.SurveyRequest, dataset.SurveyAnswer](ctx, r.runner, spec,
		dataset.SurveyRequest{Path: []byte(r.Path), Options: look})
	if err == nil {
		err = answer.Refused.Err()
	}
	return answer.Result, err
}

// crashingFile finds a file that ends the child, by halves: looks at the first files drawn only, until one more of them
// makes the difference. nil where it cannot be determined.
func (r *Run) crashingFile(ctx context.Context, avoid [][]byte) []byte {
	walked, err := r.surveyWithout(ctx, avoid, true)
	if err != nil {
		return nil
	}
	files := walked.Sample.Files
	dies := func(n int) bool { // with the first n files looked at
		without := slices.Clone(avoid)
		for _, f := range files[n:] {
			without = append(without, f.Path)
		}
		_, err := r.surveyWithout(ctx, without, false)
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

// answerLimit is how long the dataset's file system may take for one simple question. A server under load takes a
// second; the person should hear of one that is gone within 5 s, of which ending the child that hangs takes another.
const answerLimit = 3 * time.Second

// answers asks the file system of the dataset each kind of question once: looking at it takes many of them, and its
// limit is for all together. Only that there is no answer counts: what else is wrong the survey says better.
func (r *Run) answers(ctx context.Context) error {
	paths := r.runner.PathsWithin(answerLimit)
	defer paths.Close()
	if _, err := paths.Statfs(ctx, r.Key, r.Path); unanswered(err) {
		return err
	}
	info, err := paths.Stat(ctx, r.Key, r.Path)
	if err == nil {
		switch info.Mode & syscall.S_IFMT {
		case syscall.S_IFDIR:
			_, err = paths.ReadDir(ctx, r.Key, r.Path, 1)
		case syscall.S_IFREG:
			_, err = paths.Head(ctx, r.Key, r.Path, 1)
		}
	}
	if unanswered(err) {
		return err
	}
	return ctx.Err()
}

// unanswered says whether an error is that a file system does not answer.
func unanswered(err error) bool {
	late := new(isolate.TimeoutError)
	return errors.As(err, &late) && !late.Starting || errors.As(err, new(*isolate.StuckError))
}
