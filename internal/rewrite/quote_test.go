package rewrite

import (
	"os/exec"
	"strings"
	"testing"
)

func TestQuote(t *testing.T) {
	for _, word := range []string{"", "plain/path_1.h5", "a b", "it's", "$(rm -rf x)", "`x`", `back\slash`, "new\nline",
		"\x1b[31mred", "\xff\xfe", "Bücher", "--flag", "*", "\u202eright-to-left",
		"/", "/a b/it's/c", "/new\nline/x", "//two/", "/~/$HOME", "/-x/*", "\x01'; touch marker; '"} {
		out, err := exec.Command("/bin/bash", "-c", "printf %s "+quote(word)).Output()
		if err != nil || string(out) != word {
			t.Errorf("%q is quoted %s, which bash reads as %q (%v)", word, quote(word), out, err)
		}
		if strings.ContainsAny(quote(word), "\n\x1b\u202e") {
			t.Errorf("%q is quoted %q: not plainly printable", word, quote(word))
		}
		if _, inside, dollar := strings.Cut(quote(word), "$'"); dollar && strings.Contains(inside, `\'`) {
			t.Errorf("%q is quoted %q: a shell without $'…' ends the word at its quote", word, quote(word))
		}
	}
}

// A report may put ~ in the place of the home folder; the shell has to find the file all the same.
func TestQuotedPathsMayBeginWithATilde(t *testing.T) {
	for _, rest := range []string{"/x.h5", "/my data/x.h5", "/new\nline/it's.h5"} {
		command := "printf %s " + strings.Replace(quote("/home/me"+rest), "/home/me", "~", 1)
		bash := exec.Command("/bin/bash", "-c", command)
		bash.Env = []string{"HOME=/home/me"}
		out, err := bash.Output()
		if err != nil || string(out) != "/home/me"+rest {
			t.Errorf("%s gives %q (%v)", command, out, err)
		}
	}
}
