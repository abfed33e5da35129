package probe

import (
	"context"
	"fmt"
	"slices"

	"github.com/pipetune/pipetune/internal/benchmark"
	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/untrusted"
	"github.com/pipetune/pipetune/pkg/report"
)

func wantsTier(s *session) bool { return s.options.Other != "" }

// tier copies a part of the sample to another place, reads the same items here and there, and removes the copy.
func tier(ctx context.Context, s *session) error {
	q, err := s.tierRun()
	if err != nil {
		s.abstain(report.ProbeTier, err.Error(), "")
		return nil
	}
	k, err := s.scratchIn(ctx, optionOther, []string{s.options.Other}, nil, q.Bytes+q.Bytes/8+16<<20)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s.abstain(report.ProbeTier, "the sample could not be copied there: "+untrusted.Cut(err.Error(), 500).String(), optionOther+" FOLDER that is there, may be written to and has room")
		return nil
	}
	defer k.remove(ctx)
	cold, err := s.canBeCold(ctx)
	if err != nil {
		return err
	}
	largest := int64(scratchFileBytes)
	for _, f := range s.sample.Files {
		largest = max(largest, f.Bytes) // a copy with holes is as long as the original
	}
	p := s.writer(k.Path, writeTakes, largest)
	q.Into = k.Path
	made, err := ask[rewrite, rewritten](ctx, p, workRewrite, q)
	p.close()
	if err != nil {
		if noRoom(err) {
			s.warn("tier: the disk of --compare-path is full: the sample could not be copied there")
		}
		return fmt.Errorf("copying the sample there: %w", err)
	}
	s.note(&s.sample, made.Failures)
	here := s.original(q, made)
	share := s.left() / 2
	s.result.Rows.Tiers = []benchmark.Tier{{Place: benchmark.Here}, {Place: benchmark.Elsewhere}}
	for i, c := range []comparing{
		{what: benchmark.Here, sample: &here, key: s.options.Key, cold: cold},
		{what: "at --compare-path", sample: &made.Sample, key: k.key, cold: cold && !k.InMemory},
	} {
		c.probe = report.ProbeTier
		c.keep = s.result.Rows.Tiers[i].Take
		if err := s.readBoth(ctx, c, max(leastCompare, share)); err != nil {
			return err
		}
	}
	return nil
}

// tierRun says what to copy: of HDF5 a run of items in the same layout, since its parts depend on each other; of others the items themselves.
func (s *session) tierRun() (rewrite, error) {
	bytes := int64(min(max(s.left().Seconds()*4*tryRate, leastTry), trySample))
	if s.sample.Kind == dataset.HDF5 {
		list, err := s.hdf5Candidates(bytes)
		if err != nil {
			return rewrite{}, err
		}
		q := list[0].rewrite
		q.Bytes = bytes
		return q, nil
	}
	items := s.sound(&s.sample, inOrder(&s.sample, sequential, 0))
	if len(items) == 0 {
		return rewrite{}, errNoneReadable
	}
	return rewrite{How: "copy", Items: items, Bytes: bytes, Seconds: s.left().Seconds() / 4}, nil
}

// original is the sample's own items that were copied.
func (s *session) original(q rewrite, made rewritten) dataset.Sample {
	here := s.sample
	here.Items = nil
	if q.How != "hdf5" {
		for _, i := range made.Items {
			here.Items = append(here.Items, s.sample.Items[i])
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
