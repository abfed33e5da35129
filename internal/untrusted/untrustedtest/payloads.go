// Package untrustedtest has texts that do harm to whoever forgets that they are foreign, for tests.
package untrustedtest

import "strings"

// Payloads do harm where a writer or reader forgets its syntax: terminal escapes, bidirectional overrides, broken
// UTF-8, Markdown, HTML, shells, workflow commands, spreadsheets, diagrams, formats of other languages, and the classes
// of the Big List of Naughty Strings.
var Payloads = []string{
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
	"\n# heading", "\r\x1b[2K", "<!-- x -->", "@x",
}
