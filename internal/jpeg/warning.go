package jpeg

import (
	"bytes"
	"slices"
	"strings"
)

// How libjpeg's warnings begin (JWRN_… of jerror.h).
const (
	noMoreData = "Premature end of JPEG file"
	markerHit  = "Corrupt JPEG data: premature end of data segment"
)

var warnings = []string{"Corrupt JPEG data: ", noMoreData, "Inconsistent progression sequence",
	"Invalid SOS parameters", "Unknown Adobe color transform", "Warning: "}

// isWarning reports whether a message says that the picture was decoded all the same. TurboJPEG's error code does not:
// it is that of a warning after any warning, though an error ended the decoding later.
func isWarning(message string) bool {
	return slices.ContainsFunc(warnings, func(w string) bool { return strings.HasPrefix(message, w) })
}

// endsEarly reports whether a file that was decoded with a warning is one that Pillow calls truncated: its decoder
// asked for more data than there is. TurboJPEG tells the first warning only. Once a marker was hit inside of a scan no
// more of it is read, so that a missing end goes unnoticed. After other damage the mark of the end decides: it cannot
// stand inside of a scan's data, and a thumbnail's stands before the last scan. Pillow lets a file without it pass
// where the damage happens to leave its decoder with data to spare; here it is truncated.
func endsEarly(data []byte, warning string) bool {
	switch warning {
	case noMoreData:
		return true
	case markerHit:
		return false
	}
	scan := max(0, bytes.LastIndex(data, []byte{0xff, 0xda}))
	return !bytes.Contains(data[scan:], []byte{0xff, 0xd9})
}
