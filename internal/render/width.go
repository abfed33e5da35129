package render

import (
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// columns counts the columns of s on a terminal: two for wide characters, none for those that stand on the one before.
func columns(s visible) int {
	if ascii(s) {
		return len(s)
	}
	return uniseg.StringWidth(string(s))
}

// ascii reports whether each byte of s is a character of one column, as in most of a report.
func ascii(s visible) bool {
	return !strings.ContainsFunc(string(s), func(r rune) bool { return r >= utf8.RuneSelf })
}

// split cuts s after as many characters as fit into n columns, at least one.
func split(s visible, n int) (head, rest visible) {
	if n = max(n, 1); n < len(s) && ascii(s[:n+1]) {
		return s[:n], s[n:]
	}
	used, state := 0, -1
	for at, left := 0, string(s); left != ""; {
		var cluster string
		var wide int
		cluster, left, wide, state = uniseg.FirstGraphemeClusterInString(left, state)
		if used += wide; used > n && at > 0 {
			return s[:at], s[at:]
		}
		at += len(cluster)
	}
	return s, ""
}

// cut shortens s to n columns by leaving out its middle: the end of a path tells more than what is before it.
func cut(s visible, n int) visible {
	if n < 2 || columns(s) <= n {
		return s
	}
	head, tail := split(s, (n-1)/3)
	if over := columns(tail) - (n - 1 - columns(head)); over > 0 {
		left, rest := split(tail, over)
		if columns(left) < over { // the next one is wide
			_, rest = split(tail, over+1)
		}
		tail = rest
	}
	return head + "…" + tail
}

// wrap breaks text into lines of at most n columns at spaces; a longer word is broken where the line ends.
func wrap(text visible, n int) []visible {
	var lines []visible
	line := visible("")
	for _, field := range strings.Fields(string(text)) {
		w := visible(field)
		for columns(w) > n && n > 0 {
			if line != "" {
				lines, line = append(lines, line), ""
			}
			head, rest := split(w, n)
			lines, w = append(lines, head), rest
		}
		switch {
		case w == "":
		case line == "":
			line = w
		case columns(line)+1+columns(w) <= n:
			line += " " + w
		default:
			lines = append(lines, line)
			line = w
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

func spaces(n int) visible { return visible(strings.Repeat(" ", max(0, n))) }

func pad(s visible, n int) visible { return s + spaces(n-columns(s)) }

func padLeft(s visible, n int) visible { return spaces(n-columns(s)) + s }
