//go:build reliability

package reliability

import (
	"bytes"
	"image"
	"image/png"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/untrusted/untrustedtest"
)

// nameable are the payloads that can be the name of a file: without a slash and a zero byte, of 1 to 255 bytes, and
// none of the kernel's own.
func nameable() []string {
	return slices.DeleteFunc(slices.Clone(untrustedtest.Payloads), func(p string) bool {
		return p == "" || p == "." || p == ".." || len(p) > 200 || strings.ContainsAny(p, "/\x00")
	})
}

// arguable are those that can be an argument of a program.
func arguable() []string {
	return slices.DeleteFunc(slices.Clone(untrustedtest.Payloads), func(p string) bool {
		return strings.Contains(p, "\x00") || len(p) > 4096
	})
}

// tinyPNG is a picture of 8 by 8 pixels.
func tinyPNG(s *stand) []byte {
	s.Helper()
	var b bytes.Buffer
	must.Do(s, png.Encode(&b, image.NewGray(image.Rect(0, 0, 8, 8))))
	return b.Bytes()
}

// invisible says what a text for a terminal, a log or a page must never hold, "" where it holds nothing of the kind.
func invisible(s string) string {
	if !utf8.ValidString(s) {
		return "invalid UTF-8"
	}
	for _, c := range s {
		switch {
		case c == '\n':
		case c < 0x20, c >= 0x7f && c <= 0x9f:
			return "a control character"
		case c >= 0x202a && c <= 0x202e, c >= 0x2066 && c <= 0x2069, c == 0x200e, c == 0x200f, c == 0x061c:
			return "a bidirectional control"
		case c >= 0x200b && c <= 0x200d, c == 0x2028, c == 0x2029, c == 0xfeff, c == 0x2060:
			return "a character without width"
		}
	}
	return ""
}
