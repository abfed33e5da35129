package dataset

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/hdf5"
	"github.com/pipetune/pipetune/internal/untrusted"
)

// Files that keep each sample in a dataset of its own, within a group of its own or not, as /case_0001/image,
// /case_0002/image and so on. Their paths differ in one part, for which a pattern has a *: /*/image.

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

// memberPattern is the pattern of the datasets that are likely to be a sample each, as this one is; "" where it is not:
// few others have its type and as many axes, or it is so long that it is likely to hold many.
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
	if len(best) <= votes || !isWhole(d, best) {
		return ""
	}
	return pattern
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
	sameLength := !slices.ContainsFunc(alike, func(o hdf5.Dataset) bool { return o.Shape[0] != d.Shape[0] })
	if len(d.Shape) == 1 && sameLength {
		return false
	}
	many := len(alike) >= wholeFiles
	whole := hdf5.Product(*d.ItemBytes, d.Shape[:1])
	if whole == nil || *whole > wholeBytes {
		return false
	}
	return many || *d.ItemBytes < rowBytes && !(sameLength && d.Shape[0] > columnLength) ||
		d.Shape[0] <= channels && len(d.Shape) >= 3
}

// takeMembers makes a lot of the datasets in one file that a pattern names.
func (s *surveyor) takeMembers(f inside, pattern string) error {
	if s.o.ItemShape != nil {
		return fmt.Errorf("%w: items that are datasets of their own are read whole", ErrItemShape)
	}
	first := slices.IndexFunc(f.hdf5.Datasets, func(d hdf5.Dataset) bool {
		return len(alikeIn(hdf5.File{Datasets: []hdf5.Dataset{d}}, pattern, d)) > 0
	})
	if first < 0 {
		return s.noSuch(f.hdf5, pattern)
	}
	list := alikeIn(f.hdf5, pattern, f.hdf5.Datasets[first])
	l := lot{file: f.file, items: int64(len(list)),
		more: f.hdf5.Passed.Links > 0 || f.hdf5.Passed.Groups > 0 || f.hdf5.Passed.Names > 0}
	for _, d := range list {
		l.names = append(l.names, d.Path.String())
		each := hdf5.Product(d.ElementBytes, d.Shape)
		switch {
		case len(s.lots) == 0 && len(l.names) == 1:
			s.out.ItemBytes = each
		case each == nil || s.out.ItemBytes == nil || *each != *s.out.ItemBytes:
			s.out.ItemBytes = nil
		}
	}
	if s.lots = append(s.lots, l); s.out.Access == nil {
		as := stacked(pattern, list)
		if l.more { // what the others take is not known
			as.StoredBytes = nil
		}
		layout := access(as)
		s.out.Access = &layout
		s.remark(f.hdf5, layout.Dataset)
		s.note("Each dataset like %s is taken for one item, and read whole; what lies beside it is not read. "+
			"--dataset %[1]s reads one index of its first axis as an item.", list[0].Path)
		if l.more {
			s.note("The file has more of them: items are drawn from the first %d, by name.", len(list))
		}
	}
	return nil
}

// stacked is what datasets would be as one, with an axis in front that counts them.
func stacked(pattern string, list []hdf5.Dataset) hdf5.Dataset {
	d := list[0]
	out := d
	out.Path = untrusted.String(pattern)
	out.Shape = append([]int64{int64(len(list))}, d.Shape...)
	out.ItemBytes = hdf5.Product(d.ElementBytes, d.Shape)
	if len(d.Chunk) > 0 {
		out.Chunk = append([]int64{1}, d.Chunk...)
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
