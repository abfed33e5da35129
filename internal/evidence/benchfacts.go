package evidence

import (
	"github.com/pipetune/pipetune/internal/format"
	"github.com/pipetune/pipetune/internal/metric"
)

// Bench is what a benchmark measured beyond single figures.
type Bench struct {
	Noun       string      // what an item is: "item" where it is taken for a sample, else "row", "number", "block"
	Note       string      // why it is no sample; "" where it is taken for one
	Candidates []Candidate // other layouts that were tried on a sample; without the sample as it is
	AsIs       Candidate   // the sample as it is, measured the same way
	Decoders   []Decoder   // the user's own libraries, the fastest first
	Loading    Value       // seconds per item of a DataLoader with one worker that reads them; N 0: not timed
	InProcess  Value       // seconds per item of a DataLoader without workers; N 0: not timed
	Handover   Value       // seconds per item of collating in a worker and handing over, by torch; N 0: not timed
	Bound      string      // what bends the scaling at BenchWorkers, as a benchmark.Processes says; "" unknown
	Compared   bool        // another storage was measured
	Damaged    bool        // a part of the dataset could not be read
	Formats    []string    // of the pictures that were decoded: "jpeg", "png", …
	// items are pictures and decoding them was not measured: what a whole item takes is not known
	Undecoded  bool
	NoneDecode bool // so, and because not one of them could be decoded
}

// Candidate is one layout that was measured.
type Candidate struct {
	Name    string
	Command string // what makes it of the whole dataset; "" where no one command does
	Item    Value  // seconds per item, warm, in random order
	Cold    Value  // the same cold; N 0 where not measured
	Stored  Value  // its size over that of the sample as it is; N 0 unknown
}

// Decoder is one library of the user's Python.
type Decoder struct {
	Name string
	Item Value // seconds per item
}

// Usual is the library that a job most likely reads items with: Pillow, with which torchvision's datasets open pictures
// unless they are told otherwise (torchvision.datasets.folder.default_loader), else the fastest. False where none was
// timed.
func (b *Bench) Usual() (Decoder, bool) {
	for _, d := range b.Decoders {
		if d.Name == "pillow" {
			return d, true
		}
	}
	if len(b.Decoders) == 0 {
		return Decoder{}, false
	}
	return b.Decoders[0], true
}

// OpensPerItem reports whether each item of a benchmark's dataset must open its file.
func (e *Evidence) OpensPerItem() bool {
	files, _ := e.Get(metric.DatasetFileN)
	perFile, _ := e.Get(metric.BenchPerFile)
	return format.Kind(e.Facts.DatasetKind).Items().OpensPerItem(files.Center, perFile.Center)
}
