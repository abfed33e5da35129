package dataset

import "errors"

type part struct{ at, bytes int64 }

// maxParts bounds the members held to draw from: 4 MiB. A shard of WebDataset has some 10,000.
const maxParts = 1 << 18

const reasonDamage = "damaged archive, of which only the members before the damage are read"

var errNoMember = errors.New("the archive has no member to read")

// surveyTar makes lots of archives' members by their headers: of the pictures where there are some, else of all.
func (s *surveyor) surveyTar(files []File) error {
	held, sparse := 0, int64(0)
	err := s.each(files, func(f File) error {
		if held >= maxParts {
			return nil
		}
		parts, index, err := s.parts(f, maxParts-held)
		sparse += index.Sparse
		if err != nil {
			return err
		}
		if !index.Problem.IsZero() {
			s.bad.add(reasonDamage, nil, f.Path)
			if len(s.out.Notes) == 0 {
				s.note("An archive is damaged behind its first %d members: %s.", index.Members, index.Problem)
			}
		}
		if len(parts) == 0 {
			return errNoMember
		}
		held += len(parts)
		s.lots = append(s.lots, lot{file: f, items: int64(len(parts)), parts: parts, more: index.More ||
			!index.Problem.IsZero()})
		return nil
	})
	if sparse > 0 {
		s.note("%d members with holes are left out: their bytes do not lie in one piece.", sparse)
	}
	return err
}

// parts lists the members of one archive that are items, up to a limit.
func (s *surveyor) parts(f File, limit int) ([]part, TarIndex, error) {
	r, size, err := s.openHeaders(f)
	if err != nil {
		return nil, TarIndex{}, err
	}
	defer r.Close()
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
