package probe

import (
	"context"
	"slices"

	"github.com/pipetune/pipetune/internal/dataset"
)

// warmed is the part of the sample that the interpreter is sent, after it was read once, off the clock: what ran before
// may have dropped it from the page cache, as cold reads do. Where that takes longer than there is, it is what was
// read until then. It is not ok where nothing could be brought in, or no more than HDF5's chunk cache holds; then it is
// the whole sample, and reads of it are not known to be warm. The error is the context's.
func (s *session) warmed(ctx context.Context, within span) (part dataset.Sample, ok bool, err error) {
	if s.sample.Kind == dataset.Image {
		// the script reads each file itself before its time counts: its decoders may know more formats
		return s.sample, true, nil
	}
	if part, ok = s.readOnce(ctx, within); ok {
		return part, true, nil
	}
	return s.sample, s.readFiles(ctx, within), ctx.Err()
}

// readOnce reads the items that could be read so far, HDF5 as it is stored and each chunk once, and returns the sample
// with those that were read.
func (s *session) readOnce(ctx context.Context, within span) (part dataset.Sample, ok bool) {
	items := s.sound(&s.sample, inOrder(&s.sample, random, s.options.Seed))
	if len(items) == 0 {
		return part, false
	}
	chunks, list := s.chunks().byIndex(), items
	if chunks.shared() {
		list = apart(&s.sample, items, len(items), 0, chunks)
	}
	out, err := s.bringIn(ctx, &s.sample, list, within)
	if err != nil || out.Pass.Items == 0 {
		return part, false
	}
	if out.Next > 0 {
		all := items
		if items = sharing(&s.sample, all, list[:out.Next], chunks); s.onlyCached(&s.sample, items, all) {
			return part, false
		}
	}
	part = s.sample
	part.Items = nil
	slices.Sort(items)
	for _, i := range items {
		part.Items = append(part.Items, s.sample.Items[i])
	}
	return part, true
}

const (
	wholeBlock = 1 << 20 // read at a time of files that are read whole
	mostBlocks = 1 << 14 // 16 GiB: their list goes through a pipe
)

// readFiles reads the sample's files from end to end: those whose items pipetune cannot read, as where a filter is
// missing here that need not be missing there. It reports whether all of them were read.
func (s *session) readFiles(ctx context.Context, within span) bool {
	whole := dataset.Sample{Source: dataset.Source{Kind: dataset.Other, BlockBytes: wholeBlock}, Files: s.sample.All()}
	var list []int
	for i, f := range whole.Files {
		for at := int64(0); at*wholeBlock < f.Bytes; at++ {
			if len(list) == mostBlocks {
				return false
			}
			list = append(list, len(list))
			whole.Items = append(whole.Items, dataset.Ref{File: i, Index: at})
		}
	}
	if len(list) == 0 {
		return false
	}
	out, err := s.bringIn(ctx, &whole, list, within)
	return err == nil && out.Next == 0 && len(out.Failures) == 0
}

// bringIn reads items once, for as long as there is.
func (s *session) bringIn(ctx context.Context, sample *dataset.Sample, list []int, within span) (loaded, error) {
	p := s.process(sample, within.left())
	defer p.close()
	return loadWork.ask(ctx, p, load{Items: list, Once: true, Seconds: within.once(),
		Handle: usualHandle(sample), Raw: sample.Kind == dataset.HDF5})
}
