package untrusted

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// Redaction says what to hide when text is written down. Reports and recordings are pasted into public places, so it
// is applied before anything is stored, not when it is shown. The zero value hides secrets only.
type Redaction struct {
	Off         bool   // keep everything; the person asked for it
	Home        string // replaced by ~; "/" is ignored
	User        string // replaced by <user> where it is a whole path component
	Host        string // replaced by <host> where it is a whole word
	NoArguments bool   // keep only the program's name of a command line
}

// Secret stands where something was hidden.
const Secret = "<redacted>"

// homes matches a home folder of whoever.
var homes = regexp.MustCompile(`((?:^|[^A-Za-z0-9_.~>/\-]|//|^-[A-Za-z])/(?:home|Users))/[^/\s"':;,]+`)

// commonUsers are account names that say nothing about a person but occur as ordinary folder names.
var commonUsers = []string{"root", "user", "ubuntu", "debian", "admin", "ec2-user", "nobody", "data", "work", "home"}

// Path returns a path with the home folder, the user's name and anything that looks like a secret replaced,
// passed through the gate.
func Path(p string, r Redaction) string {
	if r.Off {
		return Sanitize(p)
	}
	return Sanitize(r.places(hideSecrets(bound(p, 4*MaxBytes))))
}

// Message returns a message for a person's terminal, or the log that it goes to: without secrets, passed through the
// gate. A name that the person has typed stays as it was typed.
func Message(text string) string { return Sanitize(hideInProse(bound(text, 4*MaxBytes))) }

// places replaces folders, user and host wherever they stand as whole words inside s.
func (r Redaction) places(s string) string {
	if home := path.Clean(r.Home); home != "/" && home != "." {
		s = replaceWord(s, home, "~")
	}
	if r.Home != "" || r.User != "" { // the job may be another user's
		s = homes.ReplaceAllString(s, "$1/<user>")
	}
	if r.User != "" && !slices.Contains(commonUsers, r.User) {
		s = replaceWord(s, r.User, "<user>")
	}
	if r.Host != "" && r.Host != "localhost" {
		s = replaceWord(s, r.Host, "<host>")
	}
	return s
}

// replaceWord replaces word where neither neighbour could continue a path component or a name.
func replaceWord(s, word, by string) string {
	if !strings.Contains(s, word) { // nearly always, and a pattern costs more than the whole rest
		return s
	}
	pattern := `(^|[^A-Za-z0-9_.\-])` + regexp.QuoteMeta(word) + `([^A-Za-z0-9_\-]|$)`
	if strings.HasPrefix(word, "/") {
		// a whole path starts here, not in the middle of another: -I/home/me, file:///home/me
		pattern = `(^|^-[A-Za-z]|[^A-Za-z0-9_.~>/\-]|//)` + regexp.QuoteMeta(word) + `([^A-Za-z0-9_.\-]|$)`
	}
	re := regexp.MustCompile(pattern)
	for range 2 { // neighbours share one separator, so a second pass takes the ones the first had to skip
		s = re.ReplaceAllString(s, "${1}"+strings.ReplaceAll(by, "$", "$$")+"${2}")
	}
	return s
}

// bound cuts hostile lengths before any pattern sees them.
func bound(s string, max int) string {
	if len(s) > max {
		return s[:max]
	}
	return s
}
