package rewrite

import (
	"context"
	"fmt"
	"slices"

	"github.com/pipetune/pipetune/internal/benchmark"
	"github.com/pipetune/pipetune/internal/dataset"
)

// Place copies a part of the sample to another place, reads the same items here and there, and removes the copy.
func Place(ctx context.Context, j *Job) error {
	q, err := j.placeRun()
	if err != nil {
		j.Abstain(err.Error(), "")
		return nil
	}
	k, err := j.scratchIn(ctx, optionOther, []string{j.Other}, nil, q.Bytes+q.Bytes/8+16<<20)
	if err != nil {
		return j.noScratch(ctx, err, "the sample could not be copied there",
			optionOther+" FOLDER that is there, may be written to and has room")
	}
	defer k.remove(ctx)
	cold, err := j.CanBeCold(ctx)
	if err != nil {
		return err
	}
	largest := int64(scratchFileBytes)
	for _, f := range j.Sample.Files {
		largest = max(largest, f.Bytes) // a copy with holes is as long as the original
	}
	q.Into = k.Path
	made, err := j.write(ctx, q, largest)
	if err != nil {
		if noRoom(err) {
			j.Warn("tier: the disk of --compare-path is full: the sample could not be copied there")
		}
		return fmt.Errorf("copying the sample there: %w", err)
	}
	j.Note(made.Failures)
	here := j.original(q, made)
	share := j.Left() / 2
	j.Rows.Tiers = []benchmark.Tier{{Place: benchmark.Here}, {Place: benchmark.Elsewhere}}
	for i, c := range []Copy{
		{What: benchmark.Here, Sample: &here, Key: j.Key, Cold: cold},
		{What: "at --compare-path", Sample: &made.Sample, Key: k.key, Cold: cold && !k.InMemory},
	} {
		c.Keep = j.Rows.Tiers[i].Take
		if err := j.Read(ctx, c, max(leastCompare, share)); err != nil {
			return err
		}
	}
	return nil
}

// placeRun says what to copy: of HDF5, whose parts depend on each other, a run of items; else the items.
func (j *Job) placeRun() (plan, error) {
	bytes := int64(min(max(j.Left().Seconds()*4*tryRate, leastTry), trySample))
	if j.Sample.Kind == dataset.HDF5 {
		list, err := j.hdf5Candidates(bytes)
		if err != nil {
			return plan{}, err
		}
		q := list[0].plan
		q.Bytes = bytes
		return q, nil
	}
	items := j.Sound()
	if len(items) == 0 {
		return plan{}, errNoneReadable
	}
	return plan{How: "copy", Items: items, Bytes: bytes, Seconds: j.Left().Seconds() / 4}, nil
}

// original is the sample's own items that were copied.
func (j *Job) original(q plan, made rewritten) dataset.Sample {
	here := *j.Sample
	here.Items = nil
	if q.How != inHDF5 {
		for _, i := range made.Items {
			here.Items = append(here.Items, j.Sample.Items[i])
		}
		return here
	}
	for _, item := range made.Sample.Items {
		item.File = q.File
		item.Index += q.Relayout.First
		if item.Corner != nil {
			item.Corner = slices.Clone(item.Corner)
			item.Corner[0] += q.Relayout.First
		}
		here.Items = append(here.Items, item)
	}
	return here
}
