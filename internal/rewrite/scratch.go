package rewrite

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/untrusted"
)

// scratch is a folder of pipetune's own, in which a sample is rewritten. It is removed on every way out; a run that
// is killed leaves it to the next one with the same place, which knows by the lock that nobody uses it.
type scratch struct {
	scratchMade
	job    *Job
	keeper *isolate.Child // holds the lock
	within []string
	name   string
	key    string
}

// scratchTakes is how long making or emptying a folder may take: a sample is at most some thousand files.
const scratchTakes = 10 * time.Second

// The options that say where a scratch folder is made.
const (
	optionScratch = "--scratch"
	optionOther   = "--compare-path"
)

// scratchIn makes a scratch folder in the first of the places that suits, where so many bytes are free. option is the
// one that named the places, "" for none; avoid is the dataset's folder, nil where the person named the place. remove
// is to be called where there is no error.
func (j *Job) scratchIn(ctx context.Context, option string, within []string, avoid []byte, bytes int64) (*scratch,
	error) {
	for i, place := range within {
		if full, err := filepath.Abs(place); err == nil { // a child's working folder is another one
			within[i] = full
		}
	}
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails (crypto/rand)
	k := &scratch{job: j, within: within, name: fmt.Sprintf("pipetune-%d-%s", os.Getpid(),
		hex.EncodeToString(random[:]))}
	k.key = cmp.Or(option, "scratch in") + " " + strings.Join(within, ", ")
	k.keeper = j.Runner.Child(isolate.Spec{Task: Task, Key: k.key, Timeout: scratchTakes + slowest, Write: within,
		Limits: isolate.Limits{MemoryBytes: memory, OpenFiles: openFiles}})
	made, err := isolate.Ask[request, scratchMade](ctx, k.keeper, request{Make: &scratchAsk{Within: within,
		Name: k.name, Avoid: avoid, Bytes: bytes, Spare: j.Spare()}})
	if err != nil {
		k.remove(ctx) // it may have been made after all, and the answer lost
		if option != "" {
			err = fmt.Errorf("%s: %w", option, err)
		}
		return nil, err
	}
	k.scratchMade, k.within = made, []string{filepath.Dir(string(made.Path))}
	if made.Removed > 0 {
		what := "1 scratch folder"
		if made.Removed > 1 {
			what = fmt.Sprintf("%d scratch folders", made.Removed)
		}
		j.Warn(fmt.Sprintf("removed %s left in %s by runs that were killed", what,
			untrusted.String(filepath.Dir(string(made.Path)))))
	}
	return k, nil
}

// noScratch abstains because no scratch folder could be made. Its error is the context's.
func (j *Job) noScratch(ctx context.Context, err error, what, cure string) error {
	if ctx.Err() == nil {
		j.Abstain(what+": "+untrusted.Cut(err.Error(), 500).String(), cure)
	}
	return ctx.Err()
}

// trySample is the most of a sample that is rewritten, decoded.
const trySample = 256 << 20

// scratchFileBytes is the most that a scratch file may have: trySample decoded, with room for what layouts add.
const scratchFileBytes = 2 * trySample

// remove removes the folder, also when the context has ended, and ends the lock. What stays behind is said.
func (k *scratch) remove(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), scratchTakes)
	defer cancel()
	if err := k.clear(ctx, true); err != nil {
		k.job.Warn(fmt.Sprintf("a scratch folder may be left behind: %s in %s: %s", k.name,
			untrusted.String(strings.Join(k.within, " or ")), untrusted.Cut(err.Error(), 300)))
	}
	k.keeper.Close()
}

// clear removes what is in the folder, and with all the folder and its lock.
func (k *scratch) clear(ctx context.Context, all bool) error {
	_, err := isolate.Ask[request, struct{}](ctx, k.keeper,
		request{Remove: &scratchGone{Within: k.within, Name: k.name, Empty: !all}})
	return err
}

// places are where a scratch folder may be made: where the person said, else the usual places.
func (j *Job) places() []string {
	if j.Scratch != "" {
		return []string{j.Scratch}
	}
	others := slices.DeleteFunc([]string{"/tmp", "/var/tmp"}, func(p string) bool { return p == os.TempDir() })
	return append([]string{os.TempDir()}, others...)
}
