package rewrite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pipetune/pipetune/internal/benchmark"
	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/internal/untrusted"
)

// Layouts rewrites a part of the sample into other layouts and measures each as it measures the original, one after the
// other: a candidate is removed before the next is written.
func Layouts(ctx context.Context, j *Job) error {
	t := &trial{Job: j}
	first, err := t.first()
	if err != nil {
		j.Abstain(err.Error(), "")
		return nil
	}
	var avoid []byte
	option := optionScratch
	if j.Scratch == "" {
		avoid, option = []byte(j.Sample.Folder()), ""
	}
	k, err := j.scratchIn(ctx, option, j.places(), avoid, t.needs())
	if err != nil {
		return j.noScratch(ctx, err, "there is no place to write candidates to",
			"--scratch FOLDER on a disk with room, best the one that the dataset lies on")
	}
	defer k.remove(ctx)
	t.scratch = k
	if t.cold, err = j.CanBeCold(ctx); err != nil {
		return err
	}
	return t.all(ctx, first)
}

// all goes through the candidates. Without the first there is nothing to hold the others against.
func (t *trial) all(ctx context.Context, first candidate) error {
	if err := t.one(ctx, first); err != nil {
		if noRoom(err) {
			t.failed(first, err)
			return nil
		}
		return fmt.Errorf("rewriting a sample as it is: %w", err)
	}
	if t.rest == nil {
		t.rest = t.pictureCandidates(t.made)
	}
	for len(t.rest) > 0 && ctx.Err() == nil {
		c := t.rest[0]
		t.rest = t.rest[1:]
		if err := t.one(ctx, c); err != nil && ctx.Err() == nil {
			t.failed(c, err)
		}
	}
	return nil
}

type trial struct {
	*Job
	scratch  *scratch
	cold     bool
	rest     []candidate // not tried yet; nil: not known before the first is written
	made     rewritten   // the last
	original int64       // bytes of the sample as it is
	bytes    int64       // decoded, at most
}

// How the share of the budget is used.
const (
	// tryRate is how much of a dataset is rewritten for a second of the share. Writing gzip-4 goes at some 20 to 60
	// MB/s on one core (measured on float32 noise and on smooth images), and up to two candidates are compressed beside
	// the one as it is.
	tryRate = 4 << 20
	// leastTry is worth measuring: some tens of items of 150 KB, a 224 x 224 picture.
	leastTry   = 8 << 20
	writeShare = 0.4 // of the time for the first candidate of pictures, whose number is bounded by it
	// usual is how many candidates there are, for dividing the time before it is known.
	usual = 5
	// writeTakes bounds writing one candidate, whatever the budget: a disk that takes this for 256 MiB writes 2 MiB/s.
	writeTakes = 2 * time.Minute
)

var errNoCandidates = errors.New("there are no other layouts to try for this kind of dataset")

// first is the candidate that the others are held against.
func (t *trial) first() (candidate, error) {
	t.bytes = int64(min(max(t.Left().Seconds()*tryRate, leastTry), trySample))
	switch t.Sample.Kind {
	case dataset.HDF5:
		list, err := t.hdf5Candidates(t.bytes)
		if err != nil {
			return candidate{}, err
		}
		if len(list) == 1 {
			return candidate{}, fmt.Errorf("%w: the data lies in one piece, and its items are too small for chunks "+
				"of their own", errNoCandidates)
		}
		t.rest = list[1:]
		return list[0], nil
	case dataset.Image:
		seconds := t.Left().Seconds() / (usual + 1) * writeShare
		return candidate{name: asIs, plan: plan{How: "copy", Items: t.Sound(), Bytes: trySample,
			Seconds: max(seconds, 0.2), Decode: true}}, nil
	}
	return candidate{}, fmt.Errorf("%w: %s", errNoCandidates, t.Sample.Kind)
}

// needs is what has to be free in the scratch folder: one candidate at a time, the largest of which is decoded.
func (t *trial) needs() int64 {
	if t.Sample.Kind == dataset.Image {
		return trySample + trySample/8
	}
	return t.bytes + t.bytes/8 + 16<<20 // an index of chunks, and pages that are not full
}

// one writes a candidate, measures it and removes it.
func (t *trial) one(ctx context.Context, c candidate) error {
	began := time.Now()
	c.plan.Into = t.scratch.Path
	var err error
	t.made, err = t.write(ctx, c.plan, scratchFileBytes)
	took := time.Since(began)
	defer func() {
		if err := t.scratch.clear(ctx, false); err != nil && ctx.Err() == nil {
			t.Warn("try: " + untrusted.Cut(err.Error(), 300).String())
		}
	}()
	if err != nil {
		return err
	}
	t.Note(t.made.Failures)
	if c.mind != "" {
		t.Warn(c.mind)
	}
	row := benchmark.Candidate{Name: c.name, Command: c.command}
	if c.name == asIs {
		t.original = t.made.Stored
	}
	if t.original > 0 {
		row.Size = stat.Exact(float64(t.made.Stored) / float64(t.original))
	}
	t.Rows.Tried = append(t.Rows.Tried, row)
	waiting := len(t.rest) + 1
	if t.rest == nil {
		waiting = usual
	}
	share := (t.Left() + took) / time.Duration(waiting)
	return t.Read(ctx, Copy{What: c.name, Sample: &t.made.Sample, Keep: t.Rows.Tried[len(t.Rows.Tried)-1].Take,
		Key: t.scratch.key, Cold: t.cold && !t.scratch.InMemory}, max(leastCompare, share-took))
}

func (t *trial) failed(c candidate, err error) {
	cure := ""
	if noRoom(err) {
		cure = "--scratch FOLDER on a disk with more room"
		t.Warn(fmt.Sprintf("try: the scratch folder's disk is full: %s was not measured", c.name))
	}
	t.Abstain(c.name+": "+untrusted.Cut(err.Error(), 300).String(), cure)
}
