package rewrite

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/pipetune/pipetune/internal/untrusted"
)

// safe are the characters that mean nothing to a shell.
const safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./-_"

// quote writes a word so that bash and zsh read it as it is, and so that it can be shown: what is not plainly printable
// is an escape of $'…'. Neither a quote nor a backslash stands in one: a shell that does not know $'…', as dash, would
// take the rest for commands behind an escaped quote. Of an absolute path only the names that need it are quoted, so
// that a ~ written for the home folder in front of the rest still is one.
func quote(word string) string {
	if !strings.HasPrefix(word, "/") {
		return quoteName(word)
	}
	names := strings.Split(word, "/")
	for i, name := range names {
		if name != "" {
			names[i] = quoteName(name)
		}
	}
	return strings.Join(names, "/")
}

func quoteName(word string) string {
	switch {
	case word != "" && strings.Trim(word, safe) == "":
		return word
	case utf8.ValidString(word) && untrusted.String(word).String() == word:
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	var b strings.Builder
	b.WriteString("$'")
	for _, c := range []byte(word) {
		switch {
		case c >= ' ' && c < 0x7f && c != '\'' && c != '\\':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, `\x%02x`, c)
		}
	}
	return b.String() + "'"
}
