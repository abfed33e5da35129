package untrusted

import (
	"regexp"
	"strings"
)

// pem is a private key as it stands in a file, to its end or to the end of the text.
var pem = regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|$)`)

// shapes are values that are secrets wherever they stand, by the documented form of their issuer. The first group is
// what stands before: no letter and no digit, but an underscore may, as in a name that was made of one.
var shapes = regexp.MustCompile(`(^|[^A-Za-z0-9])(?:` + strings.Join([]string{
	`(?:hf|api_org)_[A-Za-z0-9]{16,}`,                                        // Hugging Face
	`(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b`,                                  // AWS access keys
	`gh[pousr]_[A-Za-z0-9]{16,}`,                                             // GitHub
	`github_pat_[A-Za-z0-9_]{20,}`,                                           // GitHub, fine-grained
	`gl(?:pat|cbt|dt|rt|ft|soat|ptt|agent|imt|oas|ffct)-[A-Za-z0-9_\-]{16,}`, // GitLab
	`(?:xox[abeoprs]|xapp)-[A-Za-z0-9\-]{8,}`,                                // Slack
	`hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_\-]{16,}`,
	`discord(?:app)?\.com/api/webhooks/[0-9]+/[A-Za-z0-9_\-]{16,}`,
	`bot[0-9]{6,}:[A-Za-z0-9_\-]{30,}`,              // Telegram
	`sk-(?:ant|proj|or|svcacct)-[A-Za-z0-9_\-]{8,}`, // Anthropic, OpenAI
	`[rs]k_(?:live|test)_[A-Za-z0-9]{10,}`,          // Stripe
	`AIza[A-Za-z0-9_\-]{30,}`,                       // Google
	`GOCSPX-[A-Za-z0-9_\-]{16,}`,                    // Google OAuth, the client
	`ya29\.[A-Za-z0-9_\-]{16,}`,                     // Google OAuth
	`nvapi-[A-Za-z0-9_\-]{16,}`,                     // NVIDIA NGC
	`(?:npm|gsk|r8|dckr_pat|wandb_v1)_[A-Za-z0-9_\-]{20,}`,
	`dapi[0-9a-f]{32}\b`,                        // Databricks
	`hv[sbr]\.[A-Za-z0-9_\-]{20,}`,              // HashiCorp Vault
	`do[opr]_v1_[0-9a-f]{32,}`,                  // DigitalOcean
	`AGE-(?:SECRET-KEY|PLUGIN)-[A-Z0-9\-]{16,}`, // age
	`pypi-[A-Za-z0-9_\-]{16,}`,
	`SG\.[A-Za-z0-9_\-]{16,}\.[A-Za-z0-9_\-]{16,}`,
	`eyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{4,}\.?[A-Za-z0-9_\-]*`, // JSON web token
	`eyJ[A-Za-z0-9_\-+/]{32,}={0,2}`,                              // JSON in base64: Neptune, service accounts
	`(?i:bearer|basic)\s+[A-Za-z0-9._~+/=\-]{6,}`,
}, "|") + `)`)

var (
	openAI = regexp.MustCompile(`\bsk-[A-Za-z0-9]{16,}`)
	// hex40 has the form of a Weights & Biases key.
	hex40    = regexp.MustCompile(`(^|[^0-9A-Za-z])((?:local-)?[0-9a-f]{40})($|[^0-9A-Za-z])`)
	userinfo = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.\-]*://)([^\s/?#"'<>]*)@`)
	query    = regexp.MustCompile(`([?&;#])([A-Za-z0-9_.\-%]+)=([^\s&;"'<>#]*)`)
	account  = regexp.MustCompile(`^([^\s:/@]+):(.+)$`)

	// quoted: "name": "value" or 'name': 'value', also with escaped quotes inside a shell string.
	quoted = regexp.MustCompile(
		`(?s)(\\*["'])([A-Za-z0-9_.\-]{1,64})(\\*["']\s*:\s*)(\[[^\]]*\]?|"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|\\"(?:[^"\\]|\\[^"])*(?:\\")?|[^\s,}\]"'\\]+)`)
	// assigned: NAME=value or --name=value or name: value inside a longer text.
	assigned = regexp.MustCompile(
		`(?s)(^|[\s;&|,({\["'/])((?:--?|\+{1,2})?[A-Za-z_][A-Za-z0-9_.\-@]{0,63})([ \t]*=[ \t]*|:\s*)("(?:[^"\\]|\\.)*"?|'[^']*'?|[^\s;&|,)}\]"'/][^\s;&|,)}\]"']*)`)
	// indexed: environ['NAME'] = 'value'.
	indexed = regexp.MustCompile(
		`(?s)(\[\\*["'])([A-Za-z0-9_.\-]{1,64})(\\*["']\]\s*=\s*)("(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|[^\s,;)\]"']+)`)
	// spaced: --name value inside a shell string.
	spaced = regexp.MustCompile(
		`(?s)(^|[\s;&|("'])(--?[A-Za-z][A-Za-z0-9_.\-]{1,63})(\s+)("(?:[^"\\]|\\.)*"?|'[^']*'?|[^\s;&|"'\-][^\s;&|"']*)`)
)

// secretForms are values that a program's own way of taking secrets gives away: the header of HTTP that holds one,
// curl's account, a line of netrc(5), a password for the standard input. The last group is the secret.
var secretForms = []*regexp.Regexp{
	regexp.MustCompile(`(?i)(\b(?:proxy-)?authorization["']?:\s*["']?)([^"'\n\\]+)`),
	regexp.MustCompile(`(\s(?:-u|--user|--proxy-user)[ =][^\s:/@"']+:)([^\s"']+)`),
	regexp.MustCompile(`(?s)(\b(?:machine\s+\S+\s+(?:login\s+\S+\s+)?|default\s+login\s+\S+\s+)(?:account\s+\S+\s+)?password\s+)(\S+)`),
	regexp.MustCompile(`(\b(?:echo|printf)\s+(?:-\w+\s+)*["']?)([^\s"'|]+)(?:["']?\s*\|[^|]*--password-stdin)`),
}

// signed are names that are secrets in a URL only: a presigned address is a password for one object.
var signed = set("x-amz-signature x-amz-credential x-amz-security-token x-goog-signature x-goog-credential sig " +
	"signature policy key-pair-id code sv se sp skoid sktid sas awsaccesskeyid googleaccessid")

// revisions end the text before a 40-digit hash that is a commit or a checksum, not a Weights & Biases key.
var revisions = regexp.MustCompile(
	`(?i)(?:revision|commit|sha1?|rev|ref|hash|checksum|digest|git|version|snapshots?|blobs?|objects?|tree|etag|blob|run_id|parent)["']?[-_a-z]{0,8}\s*[=:/@\s]\s*["']?$|\.git@$|[0-9a-z]@$`)

// sentence is a word that follows a file's name in an error, as in "/etc/passwd: not a report" or "open token: no such
// file".
var sentence = regexp.MustCompile(`: ([a-z]+ [a-z])`)

// shield stands for the colon before such a word, which is no value then.
const shield = "\x00\x00"

// hideInProse is hideSecrets for sentences of pipetune and of the system about names of files, which may be called
// passwd or token.
func hideInProse(s string) string {
	s = sentence.ReplaceAllString(strings.ReplaceAll(s, "\x00", ""), shield+"$1")
	return strings.ReplaceAll(hideSecrets(s), shield, ": ")
}

// hideSecrets replaces every secret it can recognise inside one argument, path or message.
func hideSecrets(s string) string {
	s = pem.ReplaceAllString(s, Secret)
	for range 2 { // neighbours share what stands between them
		s = shapes.ReplaceAllString(s, "${1}"+Secret)
	}
	s = openAI.ReplaceAllStringFunc(s, func(m string) string {
		if strings.ContainsAny(m[3:], "0123456789") {
			return Secret
		}
		return m
	})
	for _, re := range secretForms {
		s = hideLast(s, re, nil)
	}
	s = hideUserinfo(s)
	s = query.ReplaceAllStringFunc(s, func(m string) string {
		g := query.FindStringSubmatch(m)
		name := strings.ToLower(g[2])
		if signed[name] || judgeName(name).hidden(g[3]) {
			return g[1] + g[2] + "=" + Secret
		}
		return m
	})
	for _, re := range []*regexp.Regexp{quoted, indexed, assigned, spaced} {
		s = replaceNamed(s, re)
	}
	return hideLast(s, hex40, revisions)
}

// hideLast hides the second group of each match, unless the text before it says that it is no secret; what stands
// before and behind it stays.
func hideLast(s string, re, unless *regexp.Regexp) string {
	var out strings.Builder
	for {
		m := re.FindStringSubmatchIndex(s)
		if m == nil {
			return out.String() + s
		}
		found := s[m[4]:m[5]]
		out.WriteString(s[:m[4]])
		if unless == nil || !unless.MatchString(out.String()) {
			found = Secret
		}
		out.WriteString(found)
		s = s[m[5]:]
	}
}

// replaceNamed hides the fourth group of each match, a value, whose second group, its name, is suspicious, keeping
// quotes. The search goes on behind the value only when it was hidden, so that a harmless outer name does not shield an
// inner one.
func replaceNamed(s string, re *regexp.Regexp) string {
	var out strings.Builder
	for len(s) > 0 {
		m := re.FindStringSubmatchIndex(s)
		if m == nil {
			break
		}
		next, from, to := m[5], m[8], m[9] // behind the name, and the value
		text := s[from:to]
		inner := strings.Trim(text, `"'\`)
		if judgeName(s[m[4]:next]).hidden(inner) && inner != Secret && !strings.HasPrefix(text, "//") {
			quote := text[:len(text)-len(strings.TrimLeft(text, `"'\`))]
			closing := text[len(strings.TrimRight(text, `"'\`)):]
			out.WriteString(s[:from] + quote + Secret + closing)
			s = s[to:]
			continue
		}
		out.WriteString(s[:next])
		s = s[next:]
	}
	return out.String() + s
}

// hideUserinfo hides what stands before the @ of a URL. A bare "git" is the customary account of every Git server.
func hideUserinfo(s string) string {
	return userinfo.ReplaceAllStringFunc(s, func(m string) string {
		g := userinfo.FindStringSubmatch(m)
		if g[2] == "git" || g[2] == "" {
			return m
		}
		return g[1] + Secret + "@"
	})
}
