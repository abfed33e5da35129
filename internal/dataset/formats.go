package dataset

import (
	"bytes"
	"errors"
	"io"
	"path"
	"strings"
)

// headBytes is how much of a file is read to recognise it: a tar archive's mark ends at byte 262, and an npy header
// of a hundred fields fits in.
const headBytes = 4096

func readHead(r io.ReaderAt) ([]byte, error) {
	head := make([]byte, headBytes)
	n, err := r.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return head[:n], nil
}

// format is a row of the table of what is recognised.
type format struct {
	name       string
	kind       Kind
	at         int    // where the mark stands
	mark       string // the first bytes, as each format's own specification gives them; "" where there are none
	extensions string // for folders, where files are judged by name
}

// formats is the table: to add a format, add a row. The first mark that fits wins.
var formats = []format{
	{name: "hdf5", kind: HDF5, mark: "\x89HDF\r\n\x1a\n", extensions: ".h5 .hdf5 .hdf .he5 .nc .mat"},
	{name: "jpeg", kind: Image, mark: "\xff\xd8\xff", extensions: ".jpg .jpeg"},
	{name: "png", kind: Image, mark: "\x89PNG\r\n\x1a\n", extensions: ".png"},
	{name: "gif", kind: Image, mark: "GIF8", extensions: ".gif"},
	{name: "tiff", kind: Image, mark: "II*\x00", extensions: ".tif .tiff"},
	{name: "tiff", kind: Image, mark: "MM\x00*"},
	{name: "webp", kind: Image, at: 8, mark: "WEBP", extensions: ".webp"},
	{name: "bmp", kind: Image, mark: "BM", extensions: ".bmp"},
	{name: "npy", kind: Npy, mark: "\x93NUMPY", extensions: ".npy"},
	{name: "tar", kind: Tar, at: 257, mark: "ustar", extensions: ".tar"},
	{name: "zip", kind: Other, mark: "PK\x03\x04", extensions: ".zip .npz"},
	{name: "gzip", kind: Other, mark: "\x1f\x8b", extensions: ".gz .tgz"},
	{name: "parquet", kind: Other, mark: "PAR1", extensions: ".parquet"},
	{name: "arrow", kind: Other, mark: "ARROW1", extensions: ".arrow .feather"},
	{name: "lmdb", kind: Other, at: 16, mark: "\xde\xc0\xef\xbe", extensions: ".mdb .lmdb"},
	{name: "tfrecord", kind: Other, extensions: ".tfrecord .tfrecords"},
	{name: "pytorch", kind: Other, extensions: ".pt .pth"},
	{name: "pickle", kind: Other, extensions: ".pkl .pickle"},
	{name: "text", kind: Other, extensions: ".csv .tsv .json .jsonl .txt"},
}

var unknownFormat = format{kind: Other}

// recognise tells a file's format from its first bytes.
func recognise(head []byte) format {
	for _, f := range formats {
		if f.mark != "" && len(head) >= f.at && bytes.HasPrefix(head[f.at:], []byte(f.mark)) {
			return f
		}
	}
	return unknownFormat
}

// byName tells a file's likely format from its name, for folders of too many files to open.
func byName(name string) format {
	extension := strings.ToLower(path.Ext(name))
	if extension == "" {
		return unknownFormat
	}
	for _, f := range formats {
		for _, e := range strings.Fields(f.extensions) {
			if e == extension {
				return f
			}
		}
	}
	return unknownFormat
}
