package probe

import "fmt"

// leastFetched is the least that must have come from storage, of what was read, for reads to be called cold, besides
// that the pages were gone. It is far below 1: a file system that compresses fetches less than it gives, and libhdf5
// reads parts of a chunk index again.
const leastFetched = 0.1

// transferred is how many bytes passes brought from storage, asked the kernel for and delivered; not ok where the
// kernel did not count all of them, as of files that lie elsewhere.
func transferred(passes []pass) (stored, asked, delivered float64, ok bool) {
	for _, p := range passes {
		if p.IO == nil || p.Remote {
			return 0, 0, 0, false
		}
		stored += float64(p.IO.Stored)
		asked += float64(p.IO.Asked)
		delivered += float64(p.Bytes)
	}
	return stored, asked, delivered, true
}

// unfetched is errNotCold where the kernel counted that reads which were to be cold brought little or nothing from
// storage: of holes in files and of data that was never written, there is nothing to bring, and below the page cache
// there may be another one. again says that what was read may have been read over and over, as a chunk is that does not
// fit into libhdf5's cache. It is nil too where the kernel does not count.
func unfetched(passes []pass, again bool) error {
	stored, read, delivered, ok := transferred(passes)
	if read == 0 { // never written, or mapped
		read = delivered
	}
	if !ok || read == 0 || stored > 0 && (again || stored >= leastFetched*read) {
		return nil
	}
	return fmt.Errorf("%w: %.0f %% of what was read came from storage, although the files' pages were gone: the "+
		"files have holes there, nothing was ever written, or there is another cache below",
		errNotCold, 100*stored/read)
}

// unopened is unfetched for opening files.
func unopened(passes []pass) error {
	if stored, _, _, ok := transferred(passes); !ok || stored > 0 || len(passes) == 0 {
		return nil
	}
	return fmt.Errorf("%w: nothing came from storage: opening takes no more than the files' folders and inodes, "+
		"which stay in memory", errNotCold)
}

// readsAgain reports whether libhdf5 may read the same part of a file several times in storage order: chunks that went
// through a filter and do not fit into its cache are read for each of their items.
func (s *session) readsAgain() bool {
	l := s.options.Layout
	return l != nil && len(l.Dataset.Filters) > 0
}
