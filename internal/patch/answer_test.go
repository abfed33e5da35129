package patch

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pipetune/pipetune/pkg/report"
)

const goodDiff = "--- a/train.py\n+++ b/train.py\n@@ -1 +1 @@\n-a\n+b\n"

func answered(diff, setting string) string {
	return fmt.Sprintf(`{"file":%q,"diff":%q,"settings":[%s]}`, base64.StdEncoding.EncodeToString([]byte("train.py")),
		base64.StdEncoding.EncodeToString([]byte(diff)), setting)
}

func TestDecode(t *testing.T) {
	const replaced = `{"setting":"num_workers","from":"1","to":"6","line":1,"how":"replaced"}`
	for name, c := range map[string]struct{ text, want string }{
		"good":    {answered(goodDiff, replaced), ""},
		"empty":   {"", "gave no answer"},
		"a list":  {"[]", "gave no answer"},
		"refused": {`{"refused":"because \u001b[2J"}`, `because \x1b[2J`},
		"another setting": {answered(goodDiff, strings.Replace(replaced, "num_workers", "seed", 1)),
			"leaves out num_workers"},
		"an unknown word": {answered(goodDiff, strings.Replace(replaced, "replaced", "maybe", 1)), "makes no sense"},
		"a line below 0": {answered(goodDiff, strings.Replace(replaced, `"line":1`, `"line":-1`, 1)),
			"makes no sense"},
		"no diff": {answered("", replaced), "no diff that fits"},
		"a diff for naught": {answered(goodDiff, strings.Replace(replaced, "replaced", "already", 1)),
			"no diff that fits"},
		"not a diff":     {answered("rm -rf /\n", replaced), "no diff that fits"},
		"text in a diff": {answered(goodDiff+"rm -rf /\n", replaced), "no diff that fits"},
		"no end":         {answered(strings.TrimSuffix(goodDiff, "\n"), replaced), "no diff that fits"},
		"no file":        {`{"diff":"","settings":[]}`, "names no file"},
		"many":           {answered(goodDiff, strings.Repeat(replaced+",", 9)+replaced), "makes no sense"},
	} {
		p, err := decode([]byte(c.text), six)
		if c.want == "" {
			if err != nil || p.File != "train.py" || p.Diff != goodDiff || len(p.Settings) != 1 ||
				*p.Settings[0].From != "1" {
				t.Errorf("%s: %+v, %v", name, p, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, not %q", name, err, c.want)
		}
	}
}

// FuzzDecode: whatever an interpreter answers, what is taken is printable, bounded and complete.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(answered(goodDiff,
		`{"setting":"num_workers","from":null,"to":"6","line":3,"how":"added","origin":"x"}`)))
	f.Add([]byte(answered("",
		`{"setting":"num_workers","from":"\u202ea","to":"6","line":3,"how":"elsewhere","origin":"\u001b]0;x\u0007"}`)))
	f.Add([]byte(`{"refused":"\u0000"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := decode(text, six)
		if err != nil {
			if !utf8.ValidString(err.Error()) {
				t.Errorf("an error that is no text: %q", err)
			}
			return
		}
		found := false
		for _, s := range p.Settings {
			found = found || s.Setting == "num_workers"
			for _, told := range []string{s.Setting, s.To, s.Origin, s.How} {
				if !utf8.ValidString(told) || strings.ContainsAny(told, "\x1b\n\r\u202e") || len(told) > mostOrigin {
					t.Errorf("%q came through", told)
				}
			}
		}
		r := report.Report{Schema: report.Schema, SchemaVersion: report.SchemaVersion, Kind: "diagnose", Patch: &p}
		if err := r.Validate(); err != nil || !found {
			t.Errorf("taken, and not a valid report: %v", err)
		}
	})
}
