package dataset

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/pipetune/pipetune/internal/untrusted"
)

// lot is a file and the items in it that may be drawn.
type lot struct {
	file  File
	items int64
	shape []int64  // of the array in it; nil where items have no shape
	chunk int64    // items that lie in one chunk; 0 where there are none
	parts []part   // an archive's members
	names []string // of datasets that are an item each, or hold some
	ends  []int64  // items in each of these and in those before it
	more  bool     // there are members beyond those
}

// runItems is how many neighbours are drawn together where a file holds many items: a reader that goes through them in
// order meets the same chunk, the same pages and the kernel's read-ahead again, as it does in the whole dataset. 64 is
// twice the items of a usual batch; 64 runs of 64 fill the default sample, each in its own 64th of the file, so that
// random order still leads all over it.
const runItems = 64

// itemRoom is what a sample's items may take as JSON; with pathRoom it is below a child's answer of 4 MiB.
const itemRoom = 3 << 19

// draw takes items from all lots and puts them together in the order of the files' names and in storage order.
func (s *surveyor) draw() error {
	if len(s.lots) == 0 {
		return s.unreadable()
	}
	sample := &s.out.Sample
	s.countItems()
	wanted := min(s.o.MaxItems, itemRoom/s.itemText())
	chance := s.rng(1)
	for i, share := range shares(s.lots, int64(wanted)) {
		l := s.lots[i]
		drawn := spread(chance, l.items, share, l.chunk)
		if len(drawn) == 0 {
			continue
		}
		sample.Files = append(sample.Files, l.file)
		for _, index := range drawn {
			sample.Items = append(sample.Items, s.ref(chance, l, len(sample.Files)-1, index))
		}
	}
	inStorageOrder(sample)
	return nil
}

// unreadable is the error for files of which none can be read.
func (s *surveyor) unreadable() error {
	list := s.bad.sorted()
	if len(list) == 0 {
		return fmt.Errorf("%w: the time limit of %v was over before a file was inspected", ErrNoItems, s.o.Limit)
	}
	name := list[0].Example[bytes.LastIndexByte(list[0].Example, '/')+1:]
	return fmt.Errorf("%w: %d of %d files inspected: %s, such as %s", ErrNoItems, list[0].Count, s.asked,
		list[0].Reason, untrusted.Cut(string(name), 100))
}

// countItems fills in how many items the dataset has, where every file of it is a lot or an item.
func (s *surveyor) countItems() {
	if !s.out.FilesExact {
		return
	}
	if s.out.Kind.Items().WholeFile {
		s.out.Items = new(s.out.Files)
		return
	}
	var total int64
	for _, l := range s.lots {
		if l.more {
			return
		}
		total += l.items
	}
	if int64(len(s.lots)) == s.out.Files {
		s.out.Items = &total
	}
}

// perFile is how many items a file holds; 0 where they were not counted.
func (r *SurveyResult) perFile() float64 {
	switch {
	case r.Items != nil && r.FilesExact:
		return float64(*r.Items) / float64(r.Files)
	case r.Access != nil && len(r.Access.Dataset.Shape) > 0: // of the file that was described
		rows := r.Access.Dataset.Shape[0]
		if patch := r.Sample.ItemShape; len(patch) > 0 {
			rows /= max(1, patch[0])
		}
		return float64(rows)
	}
	return 0
}

// itemText is how long one item may be as JSON: four numbers, their names, a corner, and a name of its own.
func (s *surveyor) itemText() int {
	longest := 0
	for _, l := range s.lots {
		for _, name := range l.names {
			longest = max(longest, 6*len(name)) // JSON writes < as \u003c
		}
	}
	return 128 + 20*len(s.out.Sample.ItemShape) + longest
}

// shares divides the wanted items among files evenly; what small files do not have goes to the larger ones. When there
// are more files than items are wanted, the first files, which were drawn at random, have one each.
func shares(lots []lot, wanted int64) []int64 {
	out := make([]int64, len(lots))
	order := make([]int, min(int64(len(lots)), wanted))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(lots[a].items, lots[b].items) })
	for i, at := range order {
		out[at] = min(lots[at].items, wanted/int64(len(order)-i))
		wanted -= out[at]
	}
	return out
}

// spread draws up to n distinct numbers below total, rising: all of them where there are not more; else in runs of
// neighbours, each from its own part of the range and beginning where a chunk begins. A run is as long as the whole
// chunks that hold runItems, so that what reading a chunk costs is shared by as many items as in the whole dataset; but
// no longer than a quarter of n, so that there are four runs at least.
func spread(chance *rand.Rand, total, n, chunk int64) []int64 {
	if n <= 0 || total <= 0 {
		return nil
	}
	if total <= n {
		out := make([]int64, total)
		for i := range out {
			out[i] = int64(i)
		}
		return out
	}
	chunk = max(chunk, 1)
	step := chunk * ((runItems-1)/chunk + 1) // from one possible beginning of a run to the next
	run := min(step, max(n/4, min(runItems, n)))
	places := total / step
	if places == 0 || total%step >= run {
		places++ // what is left at the end is a place too when a run fits
	}
	runs := min(n/run, places)
	if chunk == 1 { // no chunk is cut by a shorter run
		runs = min((n-1)/run+1, places)
	}
	run = min(step, (n-1)/runs+1) // longer than a quarter where there are too few places for four
	out := make([]int64, 0, n)
	for i := range runs {
		low, high := share(i, runs, places), share(i+1, runs, places)
		begin := (low + chance.Int64N(high-low)) * step
		for at := begin; at < min(begin+run, total) && int64(len(out)) < n; at++ {
			out = append(out, at)
		}
	}
	return out
}

// share is i/n of total, rounded down, for i up to n and both below 2^31 or so: the number of runs is that of a sample.
func share(i, n, total int64) int64 { return total/n*i + total%n*i/n }

func (s *surveyor) ref(chance *rand.Rand, l lot, file int, index int64) Ref {
	if l.parts != nil {
		return Ref{File: file, At: l.parts[index].at, Bytes: l.parts[index].bytes}
	}
	if l.names != nil {
		at, _ := slices.BinarySearch(l.ends, index+1)
		ref := Ref{File: file, Index: index, Name: l.names[at]}
		if ref.Row = index; at > 0 {
			ref.Row -= l.ends[at-1]
		}
		return ref
	}
	patch := s.out.Sample.ItemShape
	if patch == nil {
		return Ref{File: file, Index: index}
	}
	corner := make([]int64, len(patch))
	for axis := range patch {
		corner[axis] = chance.Int64N(l.shape[axis] - patch[axis] + 1)
	}
	corner[0] = index * patch[0]
	return Ref{File: file, Index: corner[0], Corner: corner}
}

// inStorageOrder sorts files by path, and items by file and place.
func inStorageOrder(sample *Sample) {
	order := make([]int, len(sample.Files))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return bytes.Compare(sample.Files[a].Path, sample.Files[b].Path) })
	files, place := make([]File, len(order)), make([]int, len(order))
	for to, from := range order {
		files[to], place[from] = sample.Files[from], to
	}
	sample.Files = files
	for i := range sample.Items {
		sample.Items[i].File = place[sample.Items[i].File]
	}
	slices.SortFunc(sample.Items, func(a, b Ref) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.At, b.At), cmp.Compare(a.Index, b.Index),
			slices.Compare(a.Corner, b.Corner))
	})
}
