//go:build reliability

package reliability

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/must"
)

var linkTrials = []trial{
	{id: "D9", fault: "links that lead round in circles or out", made: "a folder of 30 files with links to itself, " +
		"to its parent, to /, to a file through 40 links, and `..` in the path given; its root swapped for a link to " +
		"another folder 200 times while it is looked through",
		target: "each file once; nothing outside of the root; never files of both folders in one answer", run: links},
}

func links(s *stand) {
	root, other := s.folder("root"), s.folder("other")
	array := append([]byte("\x93NUMPY\x01\x00\x76\x00{'descr': '|u1', 'fortran_order': False, 'shape': (4, 64), }"),
		bytes.Repeat([]byte(" "), 128-10-57-1)...)
	array = append(append(array, '\n'), make([]byte, 4*64)...)
	fill := func(folder, prefix string) {
		for i := range 30 {
			dir := filepath.Join(folder, fmt.Sprintf("d%d", i%3))
			must.Do(s, errors.Join(os.MkdirAll(dir, 0o700),
				os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s%d.npy", prefix, i)), array, 0o600)))
		}
	}
	fill(root, "in")
	fill(other, "out")
	linked := 0
	link := func(target, name string) {
		linked++
		must.Do(s, os.Symlink(target, filepath.Join(root, name)))
	}
	link(root, "d0/self")
	link("..", "d1/parent")
	link("/", "everything")
	link("circle-b", "circle-a")
	link("circle-a", "circle-b")
	link("d0/in0.npy", "deep0.npy")
	for i := 1; i < 40; i++ {
		link(fmt.Sprintf("deep%d.npy", i-1), fmt.Sprintf("deep%d.npy", i))
	}
	r := &reader{runner: s.newRunner(), limit: verdictLimit}
	defer r.close()
	for _, path := range []string{root, filepath.Join(root, "d0") + "/../../" + filepath.Base(root), root +
		"/d0/self"} {
		got, err := r.look(s.Context(), path, dataset.SurveyOptions{})
		if err != nil {
			s.Fatalf("%s: %v", path, err)
		}
		if got.Files != 30 || got.Links != int64(linked) {
			s.Errorf("%s: %d files and %d links, there are 30 and %d", path, got.Files, got.Links, linked)
		}
	}
	// The root is swapped all the while.
	aside := root + "-aside"
	done := make(chan struct{})
	var wg sync.WaitGroup
	swaps := 0
	wg.Go(func() {
		for {
			err := errors.Join(os.Rename(root, aside), os.Symlink(other, root), os.Remove(root), os.Rename(aside, root))
			if err != nil {
				s.T.Errorf("swapping: %v", err)
				return
			}
			swaps++
			select {
			case <-done:
				return
			default:
			}
		}
	})
	counts := map[string]int{}
	for range 200 {
		found, err := r.look(s.Context(), root, dataset.SurveyOptions{})
		switch {
		case errors.As(err, new(*isolate.DeathError)), errors.As(err, new(*isolate.TimeoutError)):
			s.Fatal(err)
		case err != nil:
			counts["refused"]++
			continue
		}
		in, out := 0, 0
		for _, f := range found.Sample.Files {
			if strings.HasPrefix(filepath.Base(string(f.Path)), "in") {
				in++
			} else {
				out++
			}
		}
		switch {
		case in > 0 && out > 0:
			counts["both"]++
		case out > 0:
			counts["other"]++
		default:
			counts["own"]++
		}
	}
	close(done)
	wg.Wait()
	if n := counts["both"]; n > 0 {
		s.Errorf("%d answers have files of both folders", n)
	}
	s.measured("30 files once each by three paths, %d links counted and not followed; under %d swaps %d answers have "+
		"the folder's files, %d those of the one that the root was a link to, %d neither, 0 both",
		linked, swaps, counts["own"], counts["other"], counts["refused"])
}
