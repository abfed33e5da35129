package dataset

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
)

const (
	mostNamed    = 200_000 // files of a folder that are named for a digest: a second of listing on a local disk
	mostSampled  = 4
	sampledBytes = 1 << 20 // of each
)

// namedFile is a file by the hash of its name, which chooses the same files of two folders with the same names.
type namedFile struct {
	hash uint32
	name string // relative to the folder
}

// digestFolder says what the items of a folder of files are, wherever it lies: how many files of a suffix there are, a
// hash of their names without what follows the last dot, and of four of them a hash of length and beginning, as in "60
// names-0b5c… 17=… 2093=…". The names stay what they are where pictures are resized or written in another format; the
// hashes do not. It is "" of a folder of too many files.
func digestFolder(folder, suffix string) (string, error) {
	f, err := os.Open(folder)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var all uint64
	var files []namedFile
	count := 0
	w := walk{root: folder + "/", stop: func() bool { return count > mostNamed }, file: func(below, name []byte) {
		if !strings.EqualFold(path.Ext(string(name)), suffix) && suffix != "" {
			return // a log, a list, a report beside the data
		}
		count++
		whole := string(below) + string(name)
		sum := sha256.Sum256([]byte(strings.TrimSuffix(whole, path.Ext(whole))))
		all += binary.LittleEndian.Uint64(sum[:]) // whatever the order in which the kernel lists them
		files = append(files, namedFile{binary.LittleEndian.Uint32(sum[8:]), whole})
		if len(files) > 16*mostSampled {
			files = smallest(files)
		}
	}}
	if err := w.run(int(f.Fd())); err != nil {
		return "", err
	}
	if w.cut || count == 0 {
		return "", nil
	}
	out := fmt.Sprintf("%d %s%016x", count, ofNames, all)
	for _, x := range smallest(files) {
		sum, err := hashFile(path.Join(folder, x.name))
		if err != nil {
			return "", err
		}
		out += fmt.Sprintf(" %d=%s", x.hash, sum)
	}
	return out, nil
}

// ofNames begins the part of a digest that tells names of files.
const ofNames = "names-"

// smallest are the files whose names have the smallest hashes.
func smallest(files []namedFile) []namedFile {
	slices.SortFunc(files, func(a, b namedFile) int {
		return cmp.Or(cmp.Compare(a.hash, b.hash), strings.Compare(a.name, b.name))
	})
	return files[:min(len(files), mostSampled)]
}

// hashFile is the beginning of a hash of a file's length and its first bytes.
func hashFile(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%d ", info.Size())
	if _, err := io.CopyN(h, f, sampledBytes); err != nil && err != io.EOF {
		return "", err
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:8]), nil
}
