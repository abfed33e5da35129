//go:build reliability

package reliability

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/probe"
)

// mutantLimit is how long one request about a hostile file may take, well below the target of 10 s: on some, libhdf5
// goes round in circles.
const mutantLimit = 2 * time.Second

// outcome is what came of a hostile file.
type outcome int

const (
	whole   outcome = iota // looked through, and an item read
	partly                 // looked through, and the item was refused
	refused                // by the look
	died                   // a child ended
	late                   // a child was ended after mutantLimit
	odd                    // the parent cannot tell: a failure of pipetune itself
	outcomes
)

var outcomeWords = [outcomes]string{"read whole", "read in part", "refused", "ended a child",
	"went on until ended by the time limit", "failures of the parent"}

// reader has pipetune's own children look through files and read one item of each, as bench-io does. A child serves
// until it dies.
type reader struct {
	runner *isolate.Runner
	limit  time.Duration // of a request
	survey *isolate.Child
	items  *isolate.Child
	why    error // of the last file that was not read whole
}

// verdict is what came of one file that children of its own have looked at.
type verdict struct {
	outcome
	why   error
	took  time.Duration
	bytes int64 // the most that a child held
}

// examine reads one file, with the target's limit.
func (s *stand) examine(path string) verdict {
	s.Helper()
	r := &reader{runner: s.newRunner(), limit: examineLimit}
	defer r.close()
	began := time.Now()
	what := r.read(s.Context(), path)
	v := verdict{what, r.why, time.Since(began), held(r.runner)}
	s.Logf("%s: %s in %v, %d MiB: %v", filepath.Base(path), outcomeWords[what], v.took.Round(time.Millisecond),
		v.bytes>>20, v.why)
	return v
}

// bounds are what reading one file may take, and what took more.
type bounds struct {
	took        time.Duration
	bytes       int64
	slow, heavy []string
}

func (b *bounds) hold(name string, v verdict) {
	if v.took > b.took {
		b.slow = append(b.slow, fmt.Sprintf("%s %.1f s", name, v.took.Seconds()))
	}
	if v.bytes > b.bytes {
		b.heavy = append(b.heavy, fmt.Sprintf("%s %d MiB", name, v.bytes>>20))
	}
}

func (b *bounds) tell(s *stand) {
	s.Helper()
	if len(b.slow) > 0 {
		s.missed("more than %v, at a load of %s: %s", b.took, s.busy(), shortList(b.slow))
	}
	if len(b.heavy) > 0 {
		s.missed("more than %d MiB: %s", b.bytes>>20, shortList(b.heavy))
	}
}

// shortList joins the first of many.
func shortList(list []string) string {
	const most = 8
	text := strings.Join(list[:min(len(list), most)], ", ")
	if more := len(list) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// verdictLimit is how long pipetune may take to say what it thinks of a file.
const verdictLimit = 10 * time.Second

// examineLimit is how long it is waited for, so that a slow answer on a busy machine is reported with its time.
const examineLimit = time.Minute

// busy is how busy the machine is: its load average over a minute.
func (s *stand) busy() string {
	s.Helper()
	text := must.Get(os.ReadFile("/proc/loadavg"))(s)
	load, _, _ := strings.Cut(string(text), " ")
	return load
}

// newRunner is for children of the built binary.
func (s *stand) newRunner() *isolate.Runner {
	r := isolate.New(isolate.Config{Executable: s.binary, Args: []string{"__child"}})
	s.Cleanup(r.Close)
	return r
}

// load asks the child of package probe for items; see its type of the same name.
type load struct {
	Items []int
	Once  bool
}

type loadRequest struct {
	Sample *dataset.Sample
	Work   string
	Body   load
}

type loaded struct {
	Pass     struct{ Items int }
	Kinds    []struct{ Items int } // of pictures
	Failures []struct{ Class, Text string }
}

// read looks through what lies at a path and reads the first item of it.
func (r *reader) read(ctx context.Context, path string) outcome {
	found, err := r.look(ctx, path, oneItem)
	if err != nil {
		r.why = err
		return r.judge(err, &r.survey)
	}
	sample := found.Sample
	if r.items == nil {
		r.items = r.runner.Child(isolate.Spec{Task: probe.Task, Timeout: r.limit,
			Limits: isolate.Limits{MemoryBytes: sample.ReadMemory(), OpenFiles: 1024}})
	}
	if len(sample.Items) == 0 {
		r.why = errors.New("there are no items")
		return partly
	}
	work := "load"
	if sample.Kind == dataset.Image {
		work = "decode"
	}
	got, err := isolate.Ask[loadRequest, loaded](ctx, r.items, loadRequest{Sample: &sample, Work: work,
		Body: load{Items: []int{0}, Once: true}})
	count := got.Pass.Items
	for _, k := range got.Kinds {
		count += k.Items
	}
	switch {
	case err != nil:
		r.why = err
		return r.judge(err, &r.items)
	case len(got.Failures) > 0:
		r.why = fmt.Errorf("%s: %s", got.Failures[0].Class, got.Failures[0].Text)
		return partly
	case count != 1:
		r.why = fmt.Errorf("one item was asked for: %+v", got)
		return odd
	}
	r.why = nil
	return whole
}

// oneItem has a look end at the first file's first item.
var oneItem = dataset.SurveyOptions{MaxFiles: 1, MaxItems: 1}

// refusal is what a look says of a file that it does not read.
type refusal struct{ error }

// look is the inspection alone.
func (r *reader) look(ctx context.Context, path string, o dataset.SurveyOptions) (dataset.SurveyResult, error) {
	if r.survey == nil {
		r.survey = r.runner.Child(isolate.Spec{Task: dataset.SurveyTask, Timeout: r.limit,
			Limits: isolate.Limits{MemoryBytes: dataset.SurveyMemory}})
	}
	o.Limit = r.limit
	found, err := isolate.Ask[dataset.SurveyRequest, dataset.SurveyAnswer](ctx, r.survey,
		dataset.SurveyRequest{Path: []byte(path), Options: o})
	if why := found.Refused.Err(); err == nil && why != nil {
		err = refusal{why}
	}
	return found.Result, err
}

// judge says what an error of a child means, and lets go of one that cannot go on.
func (r *reader) judge(err error, child **isolate.Child) outcome {
	if errors.As(err, new(*isolate.RemoteError)) || errors.As(err, new(refusal)) {
		return refused
	}
	(*child).Close()
	*child = nil
	switch {
	case errors.As(err, new(*isolate.DeathError)):
		return died
	case errors.As(err, new(*isolate.TimeoutError)):
		return late
	}
	return odd
}

func (r *reader) close() {
	for _, c := range []*isolate.Child{r.survey, r.items} {
		if c != nil {
			c.Close()
		}
	}
}
