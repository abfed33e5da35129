// Package untrusted is the one gate where text that pipetune did not write comes in: names and command lines of
// processes, names of files, mounts and GPUs, strings of a recording. Anyone on the machine can choose such text,
// so it may hold terminal escapes, bidirectional overrides, broken UTF-8, megabytes, or somebody's password.
//
// What comes out is valid UTF-8 without a single invisible character, bounded in length, and redacted where a
// Redaction was given. It promises nothing about Markdown or HTML: those escapes belong to the renderer that knows
// its own syntax. It refuses to guess: whatever is not plainly printable is shown as an escape, never dropped.
package untrusted

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxBytes bounds one sanitized text. It is PATH_MAX of linux/limits.h: the longest path the kernel accepts stays
// whole when it needs no escapes.
const MaxBytes = 4096

const ellipsis = "…"

// Text is text of foreign origin that has passed the gate. The zero value is the empty text. Only String, Cut and
// decoding make one, so a Text is always safe to write to a terminal.
type Text struct{ s string }

// String passes a string through the gate, at most MaxBytes long.
func String(raw string) Text { return Text{s: sanitize(raw, MaxBytes)} }

// Cut passes a string through the gate and ends it with an ellipsis after at most max bytes; max below 4 counts as 4.
func Cut(raw string, max int) Text { return Text{s: sanitize(raw, max)} }

// Sanitize is String for callers that store plain strings. Sanitize(Sanitize(x)) equals Sanitize(x).
func Sanitize(raw string) string { return sanitize(raw, MaxBytes) }

// String returns the sanitized text.
func (t Text) String() string { return t.s }

// IsZero says whether the text is empty, which lets the JSON option omitzero leave it out.
func (t Text) IsZero() bool { return t.s == "" }

// Equal compares two texts.
func (t Text) Equal(other Text) bool { return t.s == other.s }

// MarshalText writes the sanitized text; it never fails.
func (t Text) MarshalText() ([]byte, error) { return []byte(t.s), nil }

// UnmarshalText passes what it reads through the gate again: a recording may have been edited by hand.
func (t *Text) UnmarshalText(raw []byte) error {
	*t = String(string(raw))
	return nil
}

// sanitize escapes everything invisible and bounds the result to most bytes. It is idempotent because the escapes are
// plain ASCII and a backslash is left alone; the price is that a name holding the four characters `\x1b` looks like
// a name holding the one byte 0x1b.
func sanitize(raw string, most int) string {
	most = max(most, 4)
	if len(raw) <= most && utf8.ValidString(raw) && !strings.ContainsFunc(raw, invisible) {
		return raw
	}
	var out strings.Builder
	end := 0 // length of the longest prefix that still leaves room for the ellipsis
	for i := 0; i < len(raw); {
		r, size := utf8.DecodeRuneInString(raw[i:])
		piece := raw[i : i+size]
		if r == utf8.RuneError && size == 1 {
			piece = fmt.Sprintf(`\x%02x`, raw[i])
		} else if invisible(r) {
			piece = escape(r)
		}
		if out.Len()+len(piece) > most {
			return out.String()[:end] + ellipsis
		}
		out.WriteString(piece)
		if out.Len() <= most-len(ellipsis) {
			end = out.Len()
		}
		i += size
	}
	return out.String()
}

// invisible says whether a rune does not show as itself. unicode.IsPrint already refuses every control (Cc), format
// (Cf: bidi overrides, zero-width characters, soft hyphen, tags), separator, private and unassigned code point; the
// switch adds the letters and marks that are printable by category and blank on screen.
func invisible(r rune) bool {
	switch {
	case r == 0x034f, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5, r == 0x2800, r == 0x3164, r == 0xffa0:
		return true
	case 0x180b <= r && r <= 0x180f, 0xfe00 <= r && r <= 0xfe0f, 0xe0100 <= r && r <= 0xe01ef:
		return true
	}
	return !unicode.IsPrint(r)
}

func escape(r rune) string {
	switch {
	case r == '\n':
		return `\n`
	case r == '\r':
		return `\r`
	case r == '\t':
		return `\t`
	case r < 0x80:
		return fmt.Sprintf(`\x%02x`, r)
	case r < 0x10000:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\U%08x`, r)
}
