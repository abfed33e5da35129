package diagnose

import (
	"regexp"
	"strings"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/pkg/report"
)

// next lists commands worth running, ready to copy.
func next(e *evidence.Evidence, r *report.Report) []string {
	var out []string
	switch {
	case r.Verdict.Class == report.Inconclusive && e.Facts.Aside != "" && !tooLittle(e):
		// a longer watch would tell no more of what the main thread waits for
	case r.Verdict.Class == report.Inconclusive:
		out = append(out, longerWatch(e))
	case r.Verdict.Rule != "":
		out = append(out, "pipetune explain "+r.Verdict.Rule)
	case len(r.Findings) > 0:
		out = append(out, "pipetune explain "+r.Findings[0].Rule)
	}
	if e.Facts.Dataset != "" && r.Verdict.Class == report.InputBound {
		out = append(out, "pipetune bench-io "+ShellWord(e.Facts.Dataset))
	}
	return out
}

var plainWord = regexp.MustCompile(`^~?[A-Za-z0-9_./=:@%+,-]+$`)

// shellArgument quotes a word of a command line as it is: options stay options.
func shellArgument(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return quoted(word)
}

func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// ShellWord quotes a path, which is data, for a POSIX shell: a copied line must not run anything else.
func ShellWord(path string) string {
	if plainWord.MatchString(path) && !strings.HasPrefix(path, "-") {
		return path
	}
	if rest, home := strings.CutPrefix(path, "~/"); home { // a home that was redacted: between quotes the shell would not find it
		return "~/" + quoted(rest)
	}
	if strings.HasPrefix(path, "-") {
		path = "./" + path
	}
	return quoted(path)
}
