package hdf5

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
)

// Drawn is what reading a dataset draws on beside the file that has it.
type Drawn struct {
	Files []string // regular files, each once, as libhdf5 finds them; those that are not there are left out
	// ChunkRows is the length along the first axis of the longest chunk among the sources of a virtual dataset; 0 where
	// none is chunked.
	ChunkRows int64
	// Unsure says why Files may not be all of them; "" where they are.
	Unsure string
}

// Why files that a dataset draws on are not known.
const (
	unsureMany    = "it draws on more files than are inspected"
	unsurePattern = "it names its sources by a pattern"
	unsureSource  = "a source could not be inspected"
)

// maxNested bounds virtual datasets whose sources are virtual.
const maxNested = 8

// DrawnBy finds the files that a dataset draws on, following external links, external storage and virtual datasets. It
// is to be called in a child process that may die. Its errors are those of OpenReader for the dataset itself; what goes
// wrong further on is in Drawn.Unsure.
func DrawnBy(path, dataset string) (Drawn, error) {
	c := drawing{most: maxSources, seen: map[string]bool{}}
	if err := c.dataset(path, dataset, 0); err != nil {
		return Drawn{}, err
	}
	own, err := filepath.EvalSymlinks(path)
	if err == nil {
		c.out.Files = slices.DeleteFunc(c.out.Files, func(f string) bool { return f == own })
	}
	return c.out, nil
}

// drawing is a DrawnBy under way.
type drawing struct {
	out  Drawn
	seen map[string]bool // files, and datasets of files
	most int             // datasets that may still be opened
}

func (c *drawing) unsure(why string) {
	if c.out.Unsure == "" {
		c.out.Unsure = why
	}
}

// file takes a file up.
func (c *drawing) file(path string) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if !c.seen[path] {
		c.seen[path] = true
		c.out.Files = append(c.out.Files, path)
	}
}

// dataset takes up what one dataset draws on, the dataset asked for at depth 0 or a source of another one.
func (c *drawing) dataset(path, name string, depth int) error {
	key := path + "\x00" + name
	if c.seen[key] {
		return nil
	}
	c.seen[key] = true
	if c.most--; c.most < 0 || depth > maxNested {
		c.unsure(unsureMany)
		return nil
	}
	r, err := OpenReader(path, ReaderOptions{Dataset: name, Follow: true})
	if err != nil {
		return err
	}
	for _, f := range r.found.files[1:] {
		c.file(f.at)
	}
	d, at := r.Dataset(), r.found.file().at
	if err := r.Close(); err != nil {
		return err
	}
	if depth > 0 && len(d.Chunk) > 0 {
		c.out.ChunkRows = max(c.out.ChunkRows, d.Chunk[0])
	}
	for _, s := range r.found.sources {
		c.source(d.Storage, at, s, depth)
	}
	return nil
}

// source takes up one source, named in the file at.
func (c *drawing) source(storage Storage, at string, s source, depth int) {
	if storage == External {
		path, err := beside(at, s.file)
		if err != nil {
			c.unsure(unsureSource)
			return
		}
		c.file(path)
		return
	}
	if strings.Contains(s.file+s.dataset, "%") {
		c.unsure(unsurePattern)
		return
	}
	path := at
	if s.file != "." {
		var err error
		path, err = beside(at, s.file)
		if err != nil && filepath.IsAbs(s.file) { // libhdf5 looks for the last part of an absolute name, too
			path, err = beside(at, filepath.Base(s.file))
		}
		if err != nil {
			return // a source that is not there reads as the fill value
		}
		c.file(path)
	}
	if err := c.dataset(path, s.dataset, depth+1); err != nil && !errors.Is(err, ErrNoDataset) {
		c.unsure(unsureSource)
	}
}
