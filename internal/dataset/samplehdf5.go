package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/hdf5"
)

// surveyLimits bound a look into an HDF5 file that a person has pointed at: more than for one that a job happens to
// have open, so that a dataset can be named that lies behind thousands of others.
func surveyLimits() hdf5.Limits {
	return hdf5.Limits{Datasets: 4096, Groups: 4096, Links: 65_536, Depth: 32, NameBytes: 255, Chunks: 100_000,
		Outside: 16}
}

type inside struct {
	file File
	hdf5 hdf5.File
}

// surveyHDF5 opens files, chooses the dataset and makes lots of the files that have it.
func (s *surveyor) surveyHDF5(files []File) error {
	var first []inside
	next := 0
	for ; next < len(files) && len(first) < votes && !(next > 0 && s.late(surveyShare)); next++ {
		f, err := s.open(files[next])
		if err == nil {
			first = append(first, f)
		} else if s.asked == 1 {
			return err
		}
	}
	if len(first) == 0 {
		return nil // unreadable will say so
	}
	name, err := s.chooseDataset(first)
	if err != nil {
		return err
	}
	s.out.Sample.Dataset, s.out.Sample.Follow = name, s.o.Follow
	s.out.Sample.Members = isPattern(name, first)
	for _, f := range first {
		if err := s.take(f, name); err != nil {
			return err
		}
	}
	for ; next < len(files) && !s.enough() && !s.late(surveyShare); next++ {
		f, err := s.open(files[next])
		if err != nil {
			continue // counted
		}
		if err := s.take(f, name); err != nil {
			return err
		}
	}
	if err := s.collected(); err != nil {
		return err
	}
	if patch := s.out.Sample.ItemShape; patch != nil && s.out.Access != nil {
		*s.out.Access = ofPatch(*s.out.Access, patch)
	}
	return nil
}

// ofPatch turns what reading an index of the first axis asks of a dataset into what a patch of it does, wherever it
// lies: on average over all corners, the count of chunks rounded.
func ofPatch(a Access, patch []int64) Access {
	d := a.Dataset
	if a.ItemsPerChunk == nil || fits(patch, d.Shape) != nil {
		return a
	}
	chunks := 1.0
	for axis, length := range patch {
		chunks *= touched(d.Shape[axis], length, d.Chunk[axis])
	}
	a.ItemsPerChunk = new(max(1, *a.ItemsPerChunk/patch[0]))
	a.ChunksPerItem, a.Amplification = nil, nil
	if chunks < 1<<53 {
		a.ChunksPerItem = new(int64(chunks + 0.5))
	}
	if bytes := hdf5.Product(d.ElementBytes, patch); bytes != nil && *bytes > 0 && d.ItemBytes != nil &&
		d.ChunkBytes != nil {
		a.Amplification = new(chunks * float64(*d.ChunkBytes) / float64(*bytes))
	}
	return a
}

// touched is how many chunks of one axis a stretch of it lies in, on average over all its places: at k it ends in chunk
// (k+length-1)/chunk and begins in chunk k/chunk, both rounded down.
func touched(axis, length, chunk int64) float64 {
	before := func(n int64) float64 { // the sum of i/chunk, rounded down, for i from 0 to n-1
		q, r := float64(n/chunk), float64(n%chunk)
		return float64(chunk)*q*(q-1)/2 + r*q
	}
	places := axis - length + 1
	return 1 + (before(axis)-before(length-1)-before(places))/float64(places)
}

// take makes a lot of the dataset in one file. A file of a folder that lacks it is counted.
func (s *surveyor) take(f inside, name string) error {
	var a arrayIn
	var err error
	if s.out.Sample.Members {
		err = s.takeMembers(f, name)
	} else if a, err = s.arrayOf(f, name); err == nil {
		return s.collect(a)
	}
	switch {
	case err == nil:
		return nil
	case s.asked == 1:
		return err
	}
	s.bad.add(err.Error(), nil, f.file.Path)
	return nil
}

// open looks into one file. One that cannot be read is counted, and its error returned.
func (s *surveyor) open(f File) (inside, error) {
	if slices.ContainsFunc(s.o.Avoid, func(path []byte) bool { return bytes.Equal(path, f.Path) }) {
		s.bad.add(errAvoided.Error(), nil, f.Path)
		return inside{}, errAvoided
	}
	file, err := hdf5.Layout(string(f.Path), surveyLimits())
	if err != nil {
		reason := reasonOf(err)
		for _, r := range refusals { // the particulars, addresses most often, would make every file a reason of its own
			if errors.Is(err, r.err) {
				reason = r.err.Error()
			}
		}
		s.bad.add(reason, nil, f.Path)
		return inside{}, err
	}
	s.outside(file)
	return inside{file: f, hdf5: file}, nil
}

var errAvoided = errors.New("libhdf5 crashed on it")

func (s *surveyor) outside(f hdf5.File) {
	note := func(name string) {
		if name != "" && name != "." && len(s.out.Outside) < 16 && !slices.Contains(s.out.Outside, name) {
			s.out.Outside = append(s.out.Outside, name)
		}
	}
	for _, l := range f.Links {
		note(l.File.String())
	}
	for _, d := range f.Datasets {
		for _, o := range d.Outside {
			note(o.File.String())
		}
	}
}

// chooseDataset names the dataset to read: the one asked for, or the likely one of most of the files. Where the likely
// one lies in other files, what is left is not taken for it: it is labels, most often.
func (s *surveyor) chooseDataset(first []inside) (string, error) {
	if s.o.Dataset != "" {
		return "/" + strings.Trim(s.o.Dataset, "/"), nil
	}
	count := map[string]int{}
	best := ""
	for _, f := range first {
		all, _ := Likely(f.hdf5)
		if a, ok := Likely(s.inReach(f.hdf5)); ok && (s.o.Follow || !away(all.Dataset)) {
			a = s.rather(a, f.hdf5)
			name := a.Dataset.Path.String()
			if pattern := s.memberPattern(f.hdf5, a.Dataset); pattern != "" {
				name = pattern
			}
			if count[name]++; count[name] > count[best] {
				best = name
			}
		}
	}
	if best != "" {
		return best, nil
	}
	f := first[0].hdf5
	if all, ok := Likely(f); ok && away(all.Dataset) && !s.o.Follow {
		return "", fmt.Errorf("%w: samples are likely to be in %s; there are %s%s", ErrOutside, all.Dataset.Path,
			names(f), s.leads())
	}
	if within := s.inReach(f); len(within.Datasets) == 0 && len(f.Datasets) > 0 {
		return "", fmt.Errorf("%w: %s%s", ErrOutside, names(f), s.leads())
	}
	if len(f.Problems) > 0 {
		return "", fmt.Errorf("%w that samples are likely to be in: %d objects could not be read (%s: %s); there are "+
			"%s", ErrNoDataset,
			len(f.Problems)+f.Passed.Broken, f.Problems[0].Path, f.Problems[0].Reason, names(f))
	}
	return "", fmt.Errorf("%w that samples are likely to be in: there are %s%s", ErrNoDataset, names(f), s.leads())
}

// rather takes, and notes, another dataset for one that cannot be read here, where it holds half as much.
func (s *surveyor) rather(a Access, f hdf5.File) Access {
	if legible(a.Dataset) {
		return a
	}
	f = s.inReach(f)
	f.Datasets = slices.DeleteFunc(slices.Clone(f.Datasets), func(d hdf5.Dataset) bool { return !legible(d) })
	other, ok := Likely(f)
	if !ok || preference(other.Dataset) < preference(a.Dataset) || 2*occupies(other.Dataset) < occupies(a.Dataset) {
		return a
	}
	note := fmt.Sprintf("%s, the largest, cannot be read here; %s is measured instead. If training reads the former, "+
		"--dataset %[1]s times it with the libraries of your Python.", a.Dataset.Path, other.Dataset.Path)
	if !slices.Contains(s.out.Notes, note) {
		s.out.Notes = append(s.out.Notes, note)
	}
	return other
}

// legible reports whether items of a dataset can be read here: numbers, by filters that this libhdf5 has.
func legible(d hdf5.Dataset) bool {
	return d.ItemBytes != nil && !slices.ContainsFunc(d.Filters, func(f hdf5.Filter) bool { return !f.Available })
}

// leads says to which files the files looked at lead, where they lead to any.
func (s *surveyor) leads() string {
	const most = 3
	list := s.out.Outside
	if len(list) == 0 {
		return ""
	}
	text := "; what leads to other files is not followed: " + strings.Join(list[:min(len(list), most)], ", ")
	if more := len(list) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// inReach leaves out what lies in other files, unless that may be followed.
func (s *surveyor) inReach(f hdf5.File) hdf5.File {
	if !s.o.Follow {
		f.Datasets = slices.DeleteFunc(slices.Clone(f.Datasets), away)
	}
	return f
}

// away says whether a dataset's data lies in other files.
func away(d hdf5.Dataset) bool { return d.Storage == hdf5.Virtual || d.Storage == hdf5.External }

// names lists the datasets of a file for a person.
func names(f hdf5.File) string {
	if len(f.Datasets) == 0 {
		return "none"
	}
	var list []string
	for _, d := range f.Datasets[:min(len(f.Datasets), 10)] {
		list = append(list, fmt.Sprintf("%s %s %v", d.Path, d.Type, d.Shape))
	}
	text := strings.Join(list, ", ")
	unseen := f.Passed.Links + int64(f.Passed.Groups+f.Passed.Names)
	if more := int64(len(f.Datasets)-len(list)) + unseen; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// arrayOf finds the dataset in a file. The first time, it becomes the survey's Access.
func (s *surveyor) arrayOf(f inside, name string) (arrayIn, error) {
	i := slices.IndexFunc(f.hdf5.Datasets, func(d hdf5.Dataset) bool { return d.Path.String() == name })
	if i < 0 {
		return arrayIn{}, s.noSuch(f.hdf5, name)
	}
	d := f.hdf5.Datasets[i]
	out := arrayIn{file: f.file, shape: d.Shape, element: d.ElementBytes, itemBytes: d.ItemBytes}
	switch {
	case away(d) && !s.o.Follow:
		return out, fmt.Errorf("%w: %s is %s", ErrOutside, d.Path, d.Storage)
	case !d.Problem.IsZero():
		return out, fmt.Errorf("%w: %s: %s", ErrNoDataset, d.Path, d.Problem)
	}
	if err := out.hasItems(); err != nil {
		return out, fmt.Errorf("%w: %s: %w", ErrNoItems, d.Path, err)
	}
	if d.ItemBytes == nil {
		out.element = 0
	}
	if s.o.Follow && away(d) {
		out.file = s.drawsOn(f.file, name)
	}
	layout := access(d)
	if layout.ItemsPerChunk != nil {
		out.chunk = *layout.ItemsPerChunk
	}
	for _, other := range f.hdf5.Datasets {
		if other.Path != d.Path && len(other.Shape) > 0 && other.Shape[0] == d.Shape[0] {
			out.mask = out.mask || alongside(other, d)
			out.companion = out.companion || !alongside(other, d)
		}
	}
	if s.out.Access == nil {
		s.out.Access = &layout
		s.remark(f.hdf5, d)
	}
	return out, nil
}

// alongside reports whether datasets have their first two axes in common, as a picture and its mask have.
func alongside(a, b hdf5.Dataset) bool {
	return len(a.Shape) >= 2 && len(b.Shape) >= 2 && a.Shape[1] == b.Shape[1]
}

// noSuch says that a file lacks the dataset, and which it has.
func (s *surveyor) noSuch(f hdf5.File, name string) error {
	for _, l := range f.Links {
		if l.Path.String() == name {
			return fmt.Errorf("%w: %s is a link to %s, which is not followed", ErrNoDataset, l.Path,
				strings.TrimSpace(l.File.String()+" "+l.Target.String()))
		}
	}
	if s.asked > 1 { // one reason for all files alike
		return fmt.Errorf("%w of that name", ErrNoDataset)
	}
	return fmt.Errorf("%w of that name: there are %s", ErrNoDataset, names(f))
}

// largestNumber is what a complex number takes, in bytes. Longer elements are strings, and rows of a table.
const largestNumber = 16

// partOf says what an item is where it is likely to be less than a sample: of a file with a dataset for each sample, of
// an array of numbers that others say how to cut, of one axis at all. nil where nothing says so.
func partOf(f hdf5.File, d hdf5.Dataset) *Part {
	out, what := Part{Noun: "row"}, "one index of the first axis"
	if len(d.Shape) == 1 && d.ItemBytes != nil && d.ElementBytes <= largestNumber {
		out.Noun, what = "number", "one element"
	}
	folder, _ := path.Split(d.Path.String())
	alike, beside, sparse := 0, map[string]bool{}, ""
	for _, other := range f.Datasets {
		if other.Type == d.Type && len(other.Shape) == len(d.Shape) &&
			(len(d.Shape) == 1 || slices.Equal(other.Shape[1:], d.Shape[1:])) {
			alike++
		}
		in, name := path.Split(other.Path.String())
		if in == folder {
			beside[name] = true
		}
		if name == "indptr" {
			sparse = path.Clean(in)
		}
	}
	switch {
	case sparse != "" && path.Clean(folder) != sparse:
		out.Why = fmt.Sprintf("%s is a sparse matrix, which is not read here: %s of %s is an item, and no row of the "+
			"matrix", sparse, what, d.Path)
	case alike > votes:
		out.Why = fmt.Sprintf("the file has %d datasets like %s, as with one for each sample: %s of this one is an "+
			"item", alike, d.Path, what)
	case beside["indptr"], beside["offsets"], beside["offset"], beside["lengths"]:
		out.Why = fmt.Sprintf("%s is cut into samples by what lies beside it: %s of it is an item", d.Path, what)
	case out.Noun == "number":
		out.Why = fmt.Sprintf("%s has one axis: %s of it is an item; --item-shape says how many belong together",
			d.Path, what)
	default:
		return nil
	}
	return &out
}

// remark notes what to mind about the dataset that is read.
func (s *surveyor) remark(f hdf5.File, d hdf5.Dataset) {
	for _, filter := range d.Filters {
		if !filter.Available {
			s.out.Missing = append(s.out.Missing, filter.Name.String())
		}
	}
	if s.o.ItemShape == nil && !s.out.Sample.Members { // else the person said what an item is, or it is the whole
		s.out.Part = partOf(f, d)
	}
	if d.StoredBytes != nil && *d.StoredBytes == 0 {
		s.note("Nothing was ever written to %s: reading it fetches no data.", d.Path)
	}
	if broken := len(f.Problems) + f.Passed.Broken; broken > 0 {
		s.note("%d objects of the file could not be read, the first %s: %s.", broken, f.Problems[0].Path,
			f.Problems[0].Reason)
	}
	if d.ItemBytes == nil {
		s.note("Items of %s vary in length.", d.Path)
	}
}
