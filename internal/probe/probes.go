package probe

import (
	"context"

	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/pkg/report"
)

// one is a probe, or a part of one: whether it concerns this dataset, its weight in dividing the time, and how it
// measures.
type one struct {
	name   string // report.Probe…; "" of a part
	what   string // for people
	weight float64
	wants  func(*session) bool // nil: always
	run    func(context.Context, *session) error
}

// probes is the table of contents, in the order they run: what needs the cache as it is found comes first.
var probes = []one{
	{name: report.ProbeOpen, what: "opening files", weight: 1, run: open},
	{name: report.ProbeRead, what: "reading items, warm and cold, in order and shuffled", weight: 4, run: read},
	{name: report.ProbeDevice, what: "what the storage gives at best", weight: 2, run: device},
	{name: report.ProbeHDF5, what: "the HDF5 layout: filters, reopening, file locks, chunk caches", weight: 4,
		wants: func(s *session) bool { return s.sample.Kind == dataset.HDF5 }, run: measureLayout},
	{name: report.ProbeDecode, what: "decoding pictures that are in memory", weight: 1,
		wants: func(s *session) bool { return holdsPictures(&s.sample) }, run: decodeItems},
	{name: report.ProbeScaling, what: "several processes at the same time", weight: 4, run: scaling},
	{name: report.ProbeBatch, what: "whole batches", weight: 2,
		wants: func(s *session) bool { return s.options.BatchSize > 0 }, run: batches},
	{name: report.ProbePython, what: "the same items by the libraries of the Python that was named", weight: 3,
		wants: func(s *session) bool { return len(s.options.Python) > 0 }, run: timePython},
	{name: report.ProbeTry, what: "a sample rewritten into other layouts", weight: 6,
		wants: func(s *session) bool { return s.options.Try }, run: try},
	{name: report.ProbeTier, what: "a copy of the sample at another place", weight: 3,
		wants: func(s *session) bool { return s.options.Other != "" }, run: measureOtherPlace},
}
