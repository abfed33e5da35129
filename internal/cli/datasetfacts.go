package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/hdf5"
	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/openfiles"
	"github.com/pipetune/pipetune/internal/untrusted"
)

// describeLimit is how long one look at a dataset may take: a folder on a loaded disk lists in well under a second, and
// a person should hear of a mount that hangs within 5 s.
const describeLimit = 5 * time.Second

// describeDataset describes a dataset in a child of its own, which ends with the answer and gives its memory back.
func describeDataset(runner *isolate.Runner) openfiles.Describe {
	return func(ctx context.Context, key, path string) (openfiles.Facts, error) {
		spec := isolate.Spec{Task: dataset.Task, Key: key, Timeout: describeLimit, Only: dataset.Reach(path)}
		found, err := isolate.Call[dataset.Request, dataset.Description](ctx, runner, spec,
			dataset.Request{Path: []byte(path)})
		if err != nil {
			return openfiles.Facts{}, fmt.Errorf("looking at the dataset: %w", err)
		}
		facts := datasetFacts(found)
		switch {
		case facts.Layout != nil:
			facts.Items = digest(ctx, runner, key, path, dataset.DigestRequest{Dataset: facts.Layout.Name})
		case found.Folder != nil && facts.Files != nil:
			facts.Items = digest(ctx, runner, key, path, dataset.DigestRequest{Suffix: found.Folder.Extension.String()})
		}
		return facts, nil
	}
}

// digest says what the items of a dataset are, of a folder where it has no name, in a child of its own: reading them
// may end one that describing the file does not. It is "" where that cannot be determined; then `compare` goes by the
// dataset's path and size.
func digest(ctx context.Context, runner *isolate.Runner, key, path string, what dataset.DigestRequest) string {
	what.Path = []byte(path)
	spec := isolate.Spec{Task: dataset.DigestTask, Key: key, Timeout: describeLimit, Only: dataset.Reach(path)}
	items, err := isolate.Call[dataset.DigestRequest, string](ctx, runner, spec, what)
	if err != nil {
		return ""
	}
	return untrusted.Sanitize(items)
}

// datasetFacts says in the words of openfiles what the dataset package found.
func datasetFacts(found dataset.Description) openfiles.Facts {
	facts := openfiles.Facts{Kind: string(found.Kind), Files: &found.Files, Bytes: &found.Bytes}
	if f := found.Folder; f != nil {
		facts.Bytes = nil
		if f.More {
			facts.Files = nil // a lower bound is no count
		}
		if f.Sizes != nil {
			facts.FileBytes = &f.Sizes.Median
			if int64(f.Sizes.Count) >= found.Files && !f.More {
				facts.Bytes = &found.Bytes
			} else if facts.Files != nil {
				estimate := int64(float64(found.Bytes) / float64(f.Sizes.Count) * float64(found.Files))
				facts.Bytes = &estimate
			}
		}
		facts.Extension = f.Extension.String()
	}
	if found.HDF5 != nil {
		if access, ok := dataset.Likely(found.HDF5.File); ok {
			facts.Layout = hdf5Layout(access)
		}
		facts.Refused = found.HDF5.Refused.Reason.String()
	}
	return facts
}

func hdf5Layout(a dataset.Access) *openfiles.Layout {
	d := a.Dataset
	return &openfiles.Layout{
		Name: d.Path.String(), Shape: joined(d.Shape), Dtype: d.Type, Layout: string(d.Storage), Chunk: joined(d.Chunk),
		Filters: filterNames(d.Filters), FilterCount: len(d.Filters), ChunkBytes: d.ChunkBytes, ItemBytes: d.ItemBytes,
		ItemsPerChunk: a.ItemsPerChunk, ChunksPerItem: a.ChunksPerItem, StoredBytes: d.StoredBytes,
		Amplification: a.Amplification,
	}
}

func joined(lengths []int64) string {
	texts := make([]string, len(lengths))
	for i, n := range lengths {
		texts[i] = strconv.FormatInt(n, 10)
	}
	return strings.Join(texts, "x")
}

func filterNames(filters []hdf5.Filter) string {
	names := make([]string, len(filters))
	for i, f := range filters {
		names[i] = f.Name.String()
	}
	return strings.Join(names, ", ")
}
