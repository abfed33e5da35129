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
)

// payloads are strings that do harm where a writer or reader forgets its syntax: terminal escapes, bidirectional
// overrides, broken UTF-8, Markdown, HTML, shells, workflow commands, spreadsheets, diagrams, formats of other
// languages, and the classes of the Big List of Naughty Strings.
var payloads = []string{
	"\nnewline", "\rreturn", "\ttab", "\bback", "nul\x00", "\x1b[31mred", "\x1b[2J\x1b[H", "\x1b]0;title\a",
	"\x1b]8;;http://evil.example\alink\x1b]8;;\a", "\x1b]52;c;ZXZpbA==\a", "\x1bP1$r\x1b\\", "\x1b[6n",
	"\x9b31m", "\u009b31m", "\x7fdel", "\u202egnp.exe", "\u2066iso\u2069", "\u200bzero\u200dwidth\ufeff", "a\u00adb",
	"a\u2028b\u2029", "\u0085next", "\xff\xfe", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc0\xaf",
	strings.Repeat("A", 1<<16), strings.Repeat("\u0301", 300), "Z\u0351\u036b\u0343a\u0337l\u034d\u0321g\u0489o",
	"a|b|c", "`one`", "``two``", "```\nfence\n```", "````", "`````", "``````", "~~~\nfence",
	"<img src=x onerror=alert(1)>", "</details>", "</td></table>", "<!-- x", "-->", "<script>alert(1)</script>",
	"<svg/onload=alert(1)>", "&lt;b&gt; &#60;b&#62;", "[x](javascript:alert(1))", "![i](http://evil.example/i.png)",
	"[ref]: http://evil.example", "<http://evil.example>", "https://evil.example", "www.evil.example",
	"mail@evil.example", "@team", "a @team/sub", "#1", "owner/repo#1", "GH-1", "# heading", "heading\n===", "> quote",
	"- list", "1. list",
	"| --- |", "---", "*bold*", "_em_", "~~x~~", "\\", "\\n", "::error::x", "::set-output name=x::y", "%0A::error::x",
	"##[error]x", "$(touch marker)", "`touch marker`", "; touch marker", "& touch marker &", "| touch marker",
	"> marker", "'; touch marker; '", "\"; touch marker; \"", "$'\\ntouch marker'", "${IFS}touch${IFS}marker", "~root",
	"-rf", "--help", "=cmd()", "+1", "-1", "@SUM(1)", "\t=1", "end\"]", "%%{init: {}}%%", "]]>", "{{x}}", "${x}",
	"%s%n%d", "%!s(MISSING)", "undefined", "NaN", "null", "1e999", "0x1", "True", "../../../../etc/passwd", "C:\\con",
	"' OR 1=1 --", "<?xml version=\"1.0\"?><!DOCTYPE x>", "{\"a\":1}", "田中さんにあげて下さい", "❤️ 💔 👩‍👩‍👧", "ﷺ", "الكل",
	"test\u2060word", "ﬁ", " lead", "trail ", "a  b", "", ".", "..", "con", "*", "?", "[a-z]", "!", "!!", "^x", "(",
	")", "\"quoted\"", "'single'",
}

// nameable are the payloads that can be the name of a file: without a slash and a zero byte, of 1 to 255 bytes, and
// none of the kernel's own.
func nameable() []string {
	return slices.DeleteFunc(slices.Clone(payloads), func(p string) bool {
		return p == "" || p == "." || p == ".." || len(p) > 200 || strings.ContainsAny(p, "/\x00")
	})
}

// arguable are those that can be an argument of a program.
func arguable() []string {
	return slices.DeleteFunc(slices.Clone(payloads), func(p string) bool {
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
func invisible(s string, style bool) string {
	if style { // the colours that pipetune itself writes when it is told to
		for _, own := range []string{"\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m"} {
			s = strings.ReplaceAll(s, own, "")
		}
	}
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
