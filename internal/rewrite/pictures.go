package rewrite

import (
	"archive/tar"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/pipetune/pipetune/internal/dataset"
)

// What pictures are rewritten with.
const (
	shortSide   = 256 // pixels: from this size the usual crops of 224 are cut
	jpegQuality = 90
)

// judge counts what a picture could become.
func (t *writer) judge(data []byte, p dataset.Pixels) {
	if lossless(data) {
		t.out.Lossless++
	}
	if min(p.Width, p.Height) > shortSide {
		t.out.Large++
	}
}

// lossless recognizes by its first bytes whether a picture's format loses nothing. A WebP says so in its first chunk.
func lossless(data []byte) bool {
	switch dataset.PictureFormat(data) {
	case "jpeg":
		return false
	case "webp":
		return len(data) >= 16 && bytes.Equal(data[12:16], []byte("VP8L"))
	}
	return true
}

// pictureFiles writes a file for each picture.
func pictureFiles(encode func(data []byte, p dataset.Pixels) ([]byte, error)) func(*writer) error {
	return func(t *writer) error {
		t.out.Sample.Format = "jpeg"
		return t.each(func(_ dataset.Ref, data []byte, p dataset.Pixels) error {
			file, err := encode(data, p)
			if err != nil {
				return err
			}
			return t.itemFile(file)
		})
	}
}

// encodeLossless makes a JPEG of a picture; one whose format loses detail already stays as it is.
func encodeLossless(data []byte, p dataset.Pixels) ([]byte, error) {
	if !lossless(data) {
		return data, nil
	}
	return dataset.EncodeJPEG(p, jpegQuality)
}

// encodeSmaller makes a JPEG whose shorter side has shortSide pixels, or that of the picture where that is less.
func encodeSmaller(_ []byte, p dataset.Pixels) ([]byte, error) {
	return dataset.EncodeJPEG(p.Shrink(shortSide), jpegQuality)
}

type counting struct {
	io.Writer
	n int64
}

func (c *counting) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.n += int64(n)
	return n, err
}

// pack writes one file of all items, of another kind than they were.
func (t *writer) pack(kind dataset.Kind, write func(to *counting) error) error {
	t.out.Sample.Source = dataset.Source{Kind: kind, Format: string(kind)}
	f, err := create(t.path(0, "."+string(kind)))
	if err != nil {
		return err
	}
	buffer := bufio.NewWriterSize(f, 1<<20)
	if err = write(&counting{Writer: buffer}); err == nil {
		err = buffer.Flush()
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	return t.file(f)
}

// packTar puts the files into one archive as they are.
func packTar(t *writer) error {
	return t.pack(dataset.Tar, func(to *counting) error {
		archive := tar.NewWriter(to)
		err := t.each(func(_ dataset.Ref, data []byte, _ dataset.Pixels) error {
			name, size := fmt.Sprintf("%06d.%s", len(t.out.Items), dataset.PictureFormat(data)), int64(len(data))
			if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: size,
				Format: tar.FormatUSTAR}); err != nil {
				return err
			}
			t.out.Sample.Items = append(t.out.Sample.Items, dataset.Ref{At: to.n, Bytes: size})
			_, err := archive.Write(data)
			return err
		})
		if err != nil {
			return err
		}
		return archive.Close()
	})
}

// packArray puts the pixels, decoded, into one NumPy array. That takes pictures of one size.
func packArray(t *writer) error {
	wanted := len(t.plan.Items)
	return t.pack(dataset.Npy, func(to *counting) error {
		var first dataset.Pixels
		err := t.each(func(_ dataset.Ref, _ []byte, p dataset.Pixels) error {
			if len(t.out.Items) == 0 {
				first = p
				if _, err := to.Write(arrayHeader(p, wanted)); err != nil {
					return err
				}
			}
			if p.Width != first.Width || p.Height != first.Height || p.Channels != first.Channels ||
				p.Bits != first.Bits {
				return fmt.Errorf("one array needs pictures of one size and kind: there are %d x %d and %d x %d",
					first.Width, first.Height, p.Width, p.Height)
			}
			t.out.Sample.Items = append(t.out.Sample.Items, dataset.Ref{Index: int64(len(t.out.Items))})
			_, err := to.Write(p.Bytes)
			return err
		})
		if missed := wanted - len(t.out.Items); err == nil && missed > 0 {
			err = fmt.Errorf("%d of %d pictures could not be read again", missed, wanted)
		}
		return err
	})
}

// arrayHeader is the header of an array of n pictures (numpy/lib/format.py, 1.0), a multiple of 64 bytes.
func arrayHeader(p dataset.Pixels, n int) []byte {
	dtype, shape := "|u1", fmt.Sprintf("%d, %d, %d, %d", n, p.Height, p.Width, p.Channels)
	if p.Bits == 16 {
		dtype = "<u2"
	}
	if p.Channels == 1 {
		shape = fmt.Sprintf("%d, %d, %d", n, p.Height, p.Width)
	}
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", dtype, shape)
	const start = 10
	padded := (start+len(text)+1+63)/64*64 - start
	head := append([]byte("\x93NUMPY\x01\x00"), byte(padded), byte(padded>>8))
	return fmt.Appendf(head, "%-*s\n", padded-1, text)
}
