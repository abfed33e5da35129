package dataset

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// part is where a member of an archive lies.
type part struct{ at, bytes int64 }

// maxParts bounds the members that are held to draw from, of all archives together: 4 MiB. A shard of WebDataset has
// some 10,000.
const maxParts = 1 << 18

const reasonDamage = "damaged archive, of which only the members before the damage are read"

var errNoMember = errors.New("the archive has no member to read")

// surveyTar goes through the headers of archives and makes lots of their members: the pictures where there are some,
// else all.
func (s *surveyor) surveyTar(files []File) error {
	held, sparse := 0, int64(0)
	for i, f := range files {
		if s.enough() || held >= maxParts || i > 0 && s.late(surveyShare) {
			break
		}
		parts, index, err := s.parts(f, maxParts-held)
		sparse += index.Sparse
		if err == nil && !index.Problem.IsZero() {
			s.bad.add(reasonDamage, nil, f.Path)
			if len(s.out.Notes) == 0 {
				s.out.Notes = append(s.out.Notes, fmt.Sprintf("An archive is damaged behind its first %d members: %s.",
					index.Members, index.Problem))
			}
		}
		if err == nil && len(parts) == 0 {
			err = errNoMember
		}
		if err != nil {
			s.bad.add(reasonOf(err), nil, f.Path)
			if s.asked == 1 {
				return fmt.Errorf("%w: %w", ErrNoItems, err)
			}
			continue
		}
		held += len(parts)
		s.lots = append(s.lots, lot{file: f, items: int64(len(parts)), parts: parts, more: index.More ||
			!index.Problem.IsZero()})
	}
	if sparse > 0 {
		s.out.Notes = append(s.out.Notes, fmt.Sprintf("%d members with holes are left out: their bytes do not lie in "+
			"one piece.", sparse))
	}
	return nil
}

// parts lists the members of one archive that are items, up to a limit.
func (s *surveyor) parts(f File, limit int) ([]part, TarIndex, error) {
	flags := asIs(f.Path)
	if string(f.Path) == s.path {
		flags = 0
	}
	r, size, err := OpenRegular(string(f.Path), flags)
	if err != nil {
		return nil, TarIndex{}, err
	}
	defer r.Close()
	// Headers are read, not what lies between them.
	_ = unix.Fadvise(int(r.Fd()), 0, 0, unix.FADV_RANDOM)
	var all, pictures []part
	index, err := IndexTar(r, size, func(m Member) bool {
		switch {
		case m.Bytes == 0:
		case m.Picture:
			pictures = append(pictures, part{m.At, m.Bytes})
		case pictures == nil:
			all = append(all, part{m.At, m.Bytes})
		}
		return len(all)+len(pictures) < limit && !s.late(surveyShare)
	})
	if pictures != nil {
		all = pictures
	}
	return all, index, err
}
