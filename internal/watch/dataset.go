package watch

import (
	"context"
	"fmt"
	"strings"

	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/openfiles"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/untrusted"
)

// describe describes a dataset in a child of its own, which ends with the answer and gives its memory back.
func describe(runner *isolate.Runner) openfiles.Describe {
	return func(ctx context.Context, key, path string) (openfiles.Facts, error) {
		spec := isolate.Spec{Task: dataset.Task, Key: key, Timeout: dataset.LookLimit, Only: dataset.Reach(path)}
		found, err := isolate.Call[dataset.Request, dataset.Description](ctx, runner, spec,
			dataset.Request{Path: []byte(path)})
		if err != nil {
			return openfiles.Facts{}, fmt.Errorf("looking at the dataset: %w", err)
		}
		facts := factsOf(found)
		var items dataset.DigestRequest
		switch {
		case facts.Layout != nil:
			items.Dataset = facts.Layout.Name
		case found.Folder != nil && facts.Files != nil:
			items.Suffix = found.Folder.Extension.String()
		default:
			return facts, nil
		}
		facts.Items = dataset.DigestAt(ctx, runner, key, path, items)
		return facts, nil
	}
}

// factsOf says in the words of openfiles what the dataset package found.
func factsOf(found dataset.Description) openfiles.Facts {
	facts := openfiles.Facts{Dataset: recording.Dataset{Kind: string(found.Kind), Files: &found.Files,
		Bytes: &found.Bytes}}
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
		if access, ok := dataset.Likely(*found.HDF5); ok {
			facts.Layout = layoutOf(access)
		}
	}
	facts.Refused = found.Refused.String()
	return facts
}

// layoutOf is the layout of a dataset; its texts are sanitized.
func layoutOf(a dataset.Access) *recording.Layout {
	d := a.Dataset
	names := make([]string, len(d.Filters))
	for i, f := range d.Filters {
		names[i] = f.Name.String()
	}
	return &recording.Layout{Name: d.Path.String(), Shape: dataset.Dimensions(d.Shape),
		Dtype: untrusted.Sanitize(d.Type), Layout: untrusted.Sanitize(string(d.Storage)),
		Chunk:   dataset.Dimensions(d.Chunk),
		Filters: untrusted.Sanitize(strings.Join(names, ", ")), FilterCount: new(len(d.Filters)),
		ChunkBytes: d.ChunkBytes, ItemBytes: d.ItemBytes, ItemsPerChunk: a.ItemsPerChunk,
		ChunksPerItem: a.ChunksPerItem, StoredBytes: d.StoredBytes, Amplification: a.Amplification}
}
