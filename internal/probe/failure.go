package probe

import (
	"errors"
	"io"
	"io/fs"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/untrusted"
)

// failure is an item or a file that could not be read, and why.
type failure struct {
	Item  int    // position in the sample's Items; -1: the file could not be opened
	File  int    // position in the sample's Files, where Item is -1
	Class class  // the kind of trouble
	Text  string // of the error, sanitized, without the file's path
}

// class gathers failures that are one kind of trouble.
type class string

const (
	vanished class = "gone since the dataset was looked through"
	refused  class = "no permission"
	shrunken class = "shorter than when the dataset was looked through"
	unread   class = "the storage reports an error"
	oversize class = "more pixels than are decoded"
	corrupt  class = "cannot be read or decoded"
	crashed  class = "reading it ended the worker process"
)

// failed says what came of reading an item, or with item -1 of opening a file.
func failed(item int, err error, path []byte) failure {
	text := strings.ReplaceAll(err.Error(), string(path), "the file")
	return failure{Item: item, Class: classify(err), Text: untrusted.Cut(text, 200).String()}
}

// classify tells kinds of errors apart; what is no error of the file system is the content's fault.
func classify(err error) class {
	for _, c := range []struct {
		of class
		is []error
	}{
		{vanished, []error{fs.ErrNotExist, unix.ESTALE}},
		{refused, []error{fs.ErrPermission}},
		{shrunken, []error{io.ErrUnexpectedEOF, io.EOF}},
		{oversize, []error{dataset.ErrTooLarge}},
		{unread, []error{unix.EIO, unix.ENXIO, unix.ENODEV, unix.ETIMEDOUT, unix.EREMOTEIO}},
	} {
		for _, is := range c.is {
			if errors.Is(err, is) {
				return c.of
			}
		}
	}
	return corrupt
}
