package dataset

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/hdf5"
	"github.com/pipetune/pipetune/internal/untrusted"
)

// Files that keep each sample in a dataset of its own, within a group of its own or not, as /case_0001/image,
// /case_0002/image and so on, or the steps of each recording, as /data/demo_1/obs. Their paths differ in one part, for
// which a pattern has a *: /*/image.

// columnLength is from how many rows on arrays that are all as long are columns: pictures seldom have more.
const columnLength = 1024

// mostName is how long the path of a dataset that is an item may be, so that a sample of thousands can be sent.
const mostName = 512

// isPattern says whether a name is such a pattern, and no dataset of that very name.
func isPattern(name string, files []inside) bool {
	return strings.Contains(name, "*") && !slices.ContainsFunc(files, func(f inside) bool {
		return slices.ContainsFunc(f.hdf5.Datasets, func(d hdf5.Dataset) bool { return d.Path.String() == name })
	})
}

// memberPattern is the pattern of the datasets that are likely to be a sample each, or to hold some, as this one is; ""
// where few others have its type and as many axes, or they are columns of a table.
func (s *surveyor) memberPattern(f hdf5.File, d hdf5.Dataset) string {
	if s.o.ItemShape != nil {
		return ""
	}
	var best []hdf5.Dataset
	pattern := ""
	parts := strings.Split(d.Path.String(), "/")
	for i := 1; i < len(parts); i++ {
		way := slices.Clone(parts)
		way[i] = "*"
		if alike := alikeIn(f, strings.Join(way, "/"), d); len(alike) > len(best) {
			best, pattern = alike, strings.Join(way, "/")
		}
	}
	if len(best) <= votes || !isWhole(d, best) && !holdsMany(d, best) {
		return ""
	}
	return pattern
}

// holdsMany says whether datasets that are no sample each are likely to hold one at each index of their first axis.
// Those that are all as long, and have no more than rows of numbers, are columns of a table, of which an index is a
// sample together.
func holdsMany(d hdf5.Dataset, alike []hdf5.Dataset) bool {
	return len(d.Shape) >= 2 && d.ItemBytes != nil && !isWhole(d, alike) && (len(d.Shape) > 2 || !sameLength(alike))
}

func sameLength(list []hdf5.Dataset) bool {
	return !slices.ContainsFunc(list, func(o hdf5.Dataset) bool { return o.Shape[0] != list[0].Shape[0] })
}

// alikeIn lists the datasets of a pattern that can be read as this one is.
func alikeIn(f hdf5.File, pattern string, d hdf5.Dataset) []hdf5.Dataset {
	way := strings.Split(pattern, "/")
	var out []hdf5.Dataset
	for _, other := range f.Datasets {
		parts := strings.Split(other.Path.String(), "/")
		same := len(parts) == len(way)
		for i := 0; same && i < len(way); i++ {
			same = way[i] == parts[i] || covers(way[i], parts[i])
		}
		same = same && len(other.Path.String()) <= mostName
		if same && other.Type == d.Type && len(other.Shape) == len(d.Shape) && other.Problem.IsZero() && !away(other) &&
			other.ItemBytes != nil && !slices.Contains(other.Shape, 0) {
			out = append(out, other)
		}
	}
	return out
}

// covers reports whether a part of a pattern, with a * in it, stands for a part of a path.
func covers(pattern, part string) bool {
	head, tail, ok := strings.Cut(pattern, "*")
	return ok && len(part) >= len(head)+len(tail) && strings.HasPrefix(part, head) && strings.HasSuffix(part, tail)
}

// isWhole says whether datasets are likely to be one sample each, and not to hold many: by the bounds for files. Those
// that are all as long, of numbers along one axis or in rows, are columns of a table, unless there are very many.
func isWhole(d hdf5.Dataset, alike []hdf5.Dataset) bool {
	if len(d.Shape) == 0 || d.ItemBytes == nil {
		return false
	}
	if len(d.Shape) == 1 && sameLength(alike) {
		return false
	}
	many := len(alike) >= wholeFiles
	whole := hdf5.Product(*d.ItemBytes, d.Shape[:1])
	if whole == nil || *whole > wholeBytes {
		return false
	}
	return many || *d.ItemBytes < rowBytes && !(sameLength(alike) && d.Shape[0] > columnLength) ||
		d.Shape[0] <= channels && len(d.Shape) >= 3
}

// takeMembers makes a lot of the datasets in one file that a pattern names. Those of the first file decide whether they
// are an item each.
func (s *surveyor) takeMembers(f inside, pattern string) error {
	if s.o.ItemShape != nil {
		return fmt.Errorf("%w: of items in datasets of their own, all or one index is read", ErrItemShape)
	}
	named := slices.DeleteFunc(slices.Clone(f.hdf5.Datasets), func(d hdf5.Dataset) bool {
		return len(alikeIn(hdf5.File{Datasets: []hdf5.Dataset{d}}, pattern, d)) == 0
	})
	likely, ok := Likely(hdf5.File{Datasets: named}) // a pattern may name boxes and pictures
	if !ok {
		return s.noSuch(f.hdf5, pattern)
	}
	list := alikeIn(f.hdf5, pattern, likely.Dataset)
	more := f.hdf5.Passed.Links > 0 || f.hdf5.Passed.Groups > 0 || f.hdf5.Passed.Names > 0
	if s.out.Access == nil {
		s.out.Sample.Rows = holdsMany(list[0], list)
		as := joined(pattern, list, s.out.Sample.Rows)
		if more { // what the others take is not known
			as.StoredBytes = nil
		}
		layout := access(as)
		s.out.Access = &layout
		s.remark(f.hdf5, layout.Dataset)
		s.noteMembers(list, more)
	}
	s.lots = append(s.lots, s.memberLot(f.file, list, more))
	return nil
}

// memberLot is what may be drawn of one file. It keeps in ItemBytes what all items have in common.
func (s *surveyor) memberLot(file File, list []hdf5.Dataset, more bool) lot {
	l := lot{file: file, more: more}
	if per := s.out.Access.ItemsPerChunk; per != nil && s.out.Sample.Rows {
		l.chunk = *per
	}
	for _, d := range list {
		each, items := hdf5.Product(d.ElementBytes, d.Shape), int64(1)
		if s.out.Sample.Rows {
			each, items = d.ItemBytes, min(d.Shape[0], math.MaxInt64-l.items)
		}
		l.names = append(l.names, d.Path.String())
		l.items += items
		l.ends = append(l.ends, l.items)
		switch {
		case len(s.lots) == 0 && len(l.names) == 1:
			s.out.ItemBytes = each
		case each == nil || s.out.ItemBytes == nil || *each != *s.out.ItemBytes:
			s.out.ItemBytes = nil
		}
	}
	return l
}

// noteMembers says what is taken for an item.
func (s *surveyor) noteMembers(list []hdf5.Dataset, more bool) {
	if s.out.Sample.Rows {
		s.note("An item is one index of the first axis of any of %d datasets like %s, which is opened to read it; "+
			"what lies beside it is not read. --dataset %[2]s reads items of that one alone.", len(list), list[0].Path)
	} else {
		s.note("Each dataset like %s is taken for one item, and read whole; what lies beside it is not read. "+
			"--dataset %[1]s reads one index of its first axis as an item.", list[0].Path)
	}
	if more {
		s.note("The file has more of them: items are drawn from the first %d, by name.", len(list))
	}
}

// joined is what datasets would be as one: with their rows, or an axis in front that counts them.
func joined(pattern string, list []hdf5.Dataset, rows bool) hdf5.Dataset {
	out := list[0]
	out.Path = untrusted.String(pattern)
	if rows {
		out.Shape = slices.Clone(out.Shape)
		out.Shape[0] = 0
		for _, d := range list {
			out.Shape[0] += min(d.Shape[0], math.MaxInt64-out.Shape[0])
		}
	} else {
		out.Shape = append([]int64{int64(len(list))}, out.Shape...)
		out.ItemBytes = hdf5.Product(out.ElementBytes, list[0].Shape)
		if len(out.Chunk) > 0 {
			out.Chunk = append([]int64{1}, out.Chunk...)
		}
	}
	stored := int64(0)
	for _, one := range list {
		if one.StoredBytes == nil {
			out.StoredBytes = nil
			return out
		}
		stored += *one.StoredBytes
	}
	out.StoredBytes = &stored
	return out
}
