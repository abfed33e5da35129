package dataset

import (
	"errors"
	"io"
	"io/fs"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/hdf5"
	"github.com/pipetune/pipetune/internal/untrusted"
)

// Failure is an item or a file that could not be read, and why.
type Failure struct {
	Item  int     // position in the sample's Items; -1: the file could not be opened
	File  int     // position in the sample's Files, where Item is -1
	Class Trouble // the kind of trouble
	Text  string  // of the error, sanitized, without the file's path
}

// MaxFailures is how many failures a child reports, of at most some 300 bytes each: an answer may have 4 MiB.
const MaxFailures = 2000

// Trouble gathers failures that are of one kind.
type Trouble string

const (
	Vanished Trouble = "gone since the dataset was looked through"
	Refused  Trouble = "no permission"
	Shrunken Trouble = "shorter than when the dataset was looked through"
	Unread   Trouble = "the storage reports an error"
	Oversize Trouble = "more pixels than are decoded"
	Locked   Trouble = "locked"
	Corrupt  Trouble = "cannot be read or decoded"
	Crashed  Trouble = "reading it ended the worker process"
)

// Failed says what came of reading an item, or with item -1 of opening a file.
func Failed(item int, err error, path []byte) Failure {
	text := strings.ReplaceAll(err.Error(), string(path), "the file")
	return Failure{Item: item, Class: classify(err), Text: untrusted.Cut(text, 200).String()}
}

// classify tells kinds of errors apart; what is no error of the file system is the content's fault.
func classify(err error) Trouble {
	for _, c := range []struct {
		of Trouble
		is []error
	}{
		{Vanished, []error{fs.ErrNotExist, unix.ESTALE}},
		{Refused, []error{fs.ErrPermission}},
		{Shrunken, []error{io.ErrUnexpectedEOF, io.EOF}},
		{Oversize, []error{ErrTooLarge}},
		{Locked, []error{hdf5.ErrLocked}},
		{Unread, []error{unix.EIO, unix.ENXIO, unix.ENODEV, unix.ETIMEDOUT, unix.EREMOTEIO}},
	} {
		for _, is := range c.is {
			if errors.Is(err, is) {
				return c.of
			}
		}
	}
	return Corrupt
}
