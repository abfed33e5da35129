package untrusted

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// MaxArguments and MaxArgumentBytes bound a command line: enough to recognise a training command, far from the
// 128 KiB per argument and 2 MiB in all that execve(2) allows.
const (
	MaxArguments     = 256
	MaxArgumentBytes = 1024

	// maxRawBytes bounds what the patterns look at: they take about 0.7 ms per KiB here (2 cores, Debian 12), and a
	// process may put 2 MiB on its command line to slow its observer down.
	maxRawBytes = 64 << 10
)

var (
	flagForm = regexp.MustCompile(`^--?[A-Za-z][A-Za-z0-9_.\-]*$`)
	pairForm = regexp.MustCompile(`(?s)^((?:--?|\+{1,2})?[A-Za-z_][A-Za-z0-9_.\-/@]*)=(.*)$`)
	schemes  = regexp.MustCompile(`(?i)^(bearer|basic|token)$`)
	headers  = regexp.MustCompile(`^["']?([A-Za-z][A-Za-z0-9\-_]*):$`)
)

// CommandLine returns a command line for storing: redacted, then passed through the gate argument by argument.
// The result has as many elements as argv unless there were more than MaxArguments (one last element says how many
// are missing) or r.NoArguments is set. It never fails; nil gives an empty list.
func CommandLine(argv [][]byte, r Redaction) []string {
	out := make([]string, 0, min(len(argv), MaxArguments+1))
	pending := harmless // what the previous argument says about this one
	revision := false   // the previous argument was a flag whose value is a commit or checksum
	seen := 0           // raw bytes looked at
	for i, raw := range argv {
		if i == MaxArguments || seen > maxRawBytes {
			return append(out, fmt.Sprintf("… %d more arguments", len(argv)-i))
		}
		if i > 0 && r.NoArguments {
			return append(out, fmt.Sprintf("… %d arguments not recorded", len(argv)-i))
		}
		arg := bound(string(raw), 4*MaxArgumentBytes)
		seen += len(arg)
		if r.Off {
			out = append(out, Cut(arg, MaxArgumentBytes).String())
			continue
		}
		shown, next := redactArgument(arg, pending, revision)
		revision = flagForm.MatchString(arg) && revisions.MatchString(arg+" ")
		pending = next
		if i > 0 && arg == "-p" && path.Base(string(argv[i-1])) == "sshpass" {
			pending = certain // its -p is a password; elsewhere it is a port, a prompt, a path
		}
		out = append(out, Cut(r.places(shown), MaxArgumentBytes).String())
	}
	return out
}

// redactArgument hides what is secret in one argument and says what that argument tells about the next one.
func redactArgument(arg string, pending suspicion, revision bool) (shown string, next suspicion) {
	if flagForm.MatchString(arg) && !(pending != harmless && looksRandom(arg)) {
		if arg == "-u" || arg == "--user" || arg == "--proxy-user" {
			return arg, userColon
		}
		return arg, judgeName(arg)
	}
	switch {
	case pending == userColon:
		if m := account.FindStringSubmatch(arg); m != nil && !strings.HasSuffix(arg, ".py") {
			return m[1] + ":" + Secret, harmless
		}
	case pending != harmless && schemes.MatchString(arg):
		return arg, certain // Authorization: Bearer <the token is the next argument>
	case pending.hidden(arg):
		return Secret, harmless
	}
	if schemes.MatchString(arg) {
		return arg, likely
	}
	if m := headers.FindStringSubmatch(arg); m != nil {
		return arg, judgeName(m[1])
	}
	if m := pairForm.FindStringSubmatch(arg); m != nil && judgeName(m[1]).hidden(m[2]) {
		return m[1] + "=" + Secret, harmless // the whole rest, line breaks and all
	}
	if revision && len(arg) == 40 && hex40.MatchString(arg) { // one bare hash, and its flag said what of
		return arg, harmless
	}
	return hideSecrets(arg), harmless
}

// userColon is pending behind curl's -u and --user, whose value is account:password.
const userColon suspicion = -1

// looksRandom says whether something that starts like a flag is rather a value: "-x9Kq…" behind --password.
func looksRandom(arg string) bool {
	return !strings.HasPrefix(arg, "--") && len(arg) >= 8 && strings.ContainsAny(arg, "0123456789") &&
		strings.ToLower(arg) != arg
}
