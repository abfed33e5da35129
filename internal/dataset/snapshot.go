package dataset

import (
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/isolate"
)

// A Hugging Face cache keeps what was downloaded under "blobs", named by its hash, and gives it names by symbolic links
// in "snapshots/REVISION" beside that
// (https://huggingface.co/docs/huggingface_hub/guides/manage-cache). These links, and no others, are followed.
const (
	snapshots = "snapshots"
	blobs     = "blobs"
)

// blobsOf is the folder that a snapshot's links lead to, of a path to it or into it; "" of any other path.
func blobsOf(path string) string {
	clean := filepath.Clean(path)
	for dir := clean; ; {
		parent := filepath.Dir(dir)
		if parent == dir || dir == "." {
			return ""
		}
		if filepath.Base(parent) == snapshots && strings.Contains(filepath.Base(filepath.Dir(parent)), "--") {
			return filepath.Join(filepath.Dir(parent), blobs)
		}
		dir = parent
	}
}

// Reach is what who looks at a path may come to: the path, and where a snapshot's links lead.
func Reach(path string) []string {
	if to := blobsOf(path); to != "" {
		return []string{path, to}
	}
	return []string{path}
}

// isBlob reports whether a link that lies in a folder, whose path is absolute, leads to a regular file among the blobs
// themselves: the link's text says so, and what is there is no further link.
func isBlob(folder string, fd int, name []byte) bool {
	to := blobsOf(folder)
	if to == "" {
		return false
	}
	text := make([]byte, maxPath)
	n := 0
	err := isolate.Persist(func() (err error) { n, err = unix.Readlinkat(fd, string(name), text); return err })
	if err != nil {
		return false
	}
	target := string(text[:n])
	if !filepath.IsAbs(target) {
		target = filepath.Join(folder, target)
	}
	var st unix.Stat_t
	return filepath.Dir(filepath.Clean(target)) == to &&
		isolate.Persist(func() error { return unix.Lstat(target, &st) }) == nil &&
		st.Mode&unix.S_IFMT == unix.S_IFREG
}
