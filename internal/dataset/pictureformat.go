package dataset

import (
	"github.com/pipetune/pipetune/internal/format"
	"github.com/pipetune/pipetune/internal/jpeg"
)

// ErrTooLarge is what errors.Is finds when a picture has more pixels than are decoded, 178,956,970 as with Pillow.
var ErrTooLarge = jpeg.ErrTooLarge

// PictureFormat names a picture's format by its first bytes: "jpeg", "png", …; "" for what is none known.
func PictureFormat(data []byte) string {
	if f := format.OfBytes(data); f.Kind == Image {
		return f.Name
	}
	return ""
}
