package openfiles

import (
	"fmt"
	"os"
	"path/filepath"
)

// Try reports whether opens of files can be counted here, by counting some of a file of its own in folder. Its error
// says what is in the way.
func Try(folder string) error {
	own, err := os.MkdirTemp(folder, "pipetune-opens-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(own) }() // what is left lies in a folder for what is left
	path := filepath.Join(own, "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		return err
	}
	counter, err := newOpenCounter()
	if err != nil {
		return err
	}
	defer counter.close()
	tried := &dataset{names: map[uint64]struct{}{}}
	if err := counter.add(tried, []string{path}, []string{own}); err != nil {
		return err
	}
	const opens = 8
	for range opens {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	counter.read()
	if tried.opens != opens {
		return fmt.Errorf("of %d opens of a file in %s the kernel reported %d", opens, folder, tried.opens)
	}
	return nil
}
