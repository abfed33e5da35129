package dataset

import (
	"image"
	_ "image/gif"  // the sizes of all three are
	_ "image/jpeg" // read from the first bytes,
	_ "image/png"  // nothing is decoded
	"io"
)

// Picture is the size of an image, in pixels.
type Picture struct{ Width, Height int }

// maxPictureHead bounds what is read in search of an image's size: a JPEG may carry a thumbnail and a colour profile
// of some 64 KiB segments before it.
const maxPictureHead = 256 << 10

// readPicture reads the size of a JPEG, PNG or GIF image; it is not ok for other formats and for damaged files.
func readPicture(r io.ReaderAt) (Picture, bool) {
	config, _, err := image.DecodeConfig(io.NewSectionReader(r, 0, maxPictureHead))
	if err != nil || config.Width < 1 || config.Height < 1 {
		return Picture{}, false
	}
	return Picture{Width: config.Width, Height: config.Height}, true
}
