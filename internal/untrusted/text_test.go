package untrusted

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pipetune/pipetune/internal/must"
)

func TestText(t *testing.T) {
	for _, tc := range []struct{ name, raw, want string }{
		{"plain", "python", "python"},
		{"empty", "", ""},
		{"letters of any script", "Größe 训练 обучение", "Größe 训练 обучение"},
		{"emoji", "run-🚀", "run-🚀"},
		{"newline", "a\nb", `a\nb`},
		{"carriage return", "a\rb", `a\rb`},
		{"tab", "a\tb", `a\tb`},
		{"backspace", "a\bb", `a\x08b`},
		{"nul", "a\x00b", `a\x00b`},
		{"colour", "Fake\x1b[31m|GPU", `Fake\x1b[31m|GPU`},
		{"clipboard", "\x1b]52;c;ZXZpbA==\a", `\x1b]52;c;ZXZpbA==\x07`},
		{"delete", "a\x7f", `a\x7f`},
		{"raw C1 byte", "a\x9b31m", `a\x9b31m`},
		{"encoded C1", "a\u009b31m", `a\u009b31m`},
		{"right to left override", "a\u202egnp.exe", `a\u202egnp.exe`},
		{"isolate", "\u2066x\u2069", `\u2066x\u2069`},
		{"zero width", "a\u200bb\ufeffc", `a\u200bb\ufeffc`},
		{"soft hyphen", "a\u00adb", `a\u00adb`},
		{"line separator", "a\u2028b", `a\u2028b`},
		{"no-break space", "a\u00a0b", `a\u00a0b`},
		{"filler that shows nothing", "a\u3164b", `a\u3164b`},
		{"variation selector", "a\ufe0fb", `a\ufe0fb`},
		{"tag characters", "a\U000e0041b", `a\U000e0041b`},
		{"private use", "a\ue000b", `a\ue000b`},
		{"invalid byte", "a\xffb", `a\xffb`},
		{"cut sequence", "a\xe8\xae", `a\xe8\xae`},
		{"surrogate", "a\xed\xa0\x80b", `a\xed\xa0\x80b`},
		{"replacement character itself", "a\ufffdb", "a\ufffdb"},
		{"backslash is kept", `C:\x1b`, `C:\x1b`},
		{"comm with a parenthesis", "a) S 1 1 (b", "a) S 1 1 (b"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := String(tc.raw).String(); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestTextIsBounded(t *testing.T) {
	for _, tc := range []struct {
		raw  string
		max  int
		want string
	}{
		{"abcdef", 6, "abcdef"},
		{"abcdefg", 6, "abc…"},
		{"ab\x1b\x1b", 6, `ab\x1b`[:2] + "…"}, // an escape is never cut in half
		{"训练训练", 7, "训…"},
		{"abcdef", 0, "a…"},
	} {
		if got := Cut(tc.raw, tc.max).String(); got != tc.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", tc.raw, tc.max, got, tc.want)
		}
	}
	if got := String(strings.Repeat("\x1b", 1<<20)).String(); len(got) > MaxBytes || !strings.HasSuffix(got, "…") {
		t.Errorf("1 MiB of ESC gives %d bytes", len(got))
	}
}

func TestTextInJSON(t *testing.T) {
	type record struct {
		Name  Text `json:"name"`
		Empty Text `json:"empty,omitzero"`
	}
	line := must.Get(json.Marshal(record{Name: String("a\x1b\"b")}))(t)
	if want := `{"name":"a\\x1b\"b"}`; string(line) != want {
		t.Errorf("got %s, want %s", line, want)
	}
	var back record
	must.Do(t, json.Unmarshal([]byte(`{"name":"x\u001b[2J"}`), &back))
	if got := back.Name.String(); got != `x\x1b[2J` {
		t.Errorf("a recording edited by hand came through as %q", got)
	}
}

func FuzzText(f *testing.F) {
	for _, seed := range []string{"", "a\x1b[31m", "\x9b", "\u202e", "训\xff", strings.Repeat("\x00", 3000), "\u0301",
		strings.Repeat("é", 2049)} {
		f.Add(seed, 64)
	}
	f.Fuzz(func(t *testing.T, raw string, most int) {
		most %= 8192
		for _, got := range []string{String(raw).String(), Cut(raw, most).String()} {
			if !utf8.ValidString(got) {
				t.Fatalf("%q is not UTF-8", got)
			}
			for _, r := range got {
				if r < 0x20 || 0x7f <= r && r <= 0x9f || 0x202a <= r && r <= 0x202e {
					t.Fatalf("%q holds %U", got, r)
				}
			}
			if len(got) > max(MaxBytes, most, 4) {
				t.Fatalf("%d bytes", len(got))
			}
			if again := Sanitize(got); len(got) <= MaxBytes && again != got {
				t.Fatalf("not idempotent: %q then %q", got, again)
			}
		}
		if again := Cut(Cut(raw, most).String(), most); again != Cut(raw, most) {
			t.Fatalf("Cut is not idempotent: %q", again)
		}
	})
}

// A file may be called passwd: what an error says of it is no password.
func TestMessageKeepsOurSentences(t *testing.T) {
	for text, want := range map[string]string{
		"reading report /etc/passwd: not a pipetune report": "reading report /etc/passwd: not a pipetune " +
			"report",
		"open passwd: no such file or directory": "open passwd: no such file or directory",
		"--password: hunter2":                    "--password: " + Secret,
		"curl -H 'X-Api-Key: 0a1b2c3d4e5f' failed: exit status seven": "curl -H 'X-Api-Key: " + Secret +
			"' failed: exit status seven",
	} {
		if got := Message(text); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
}
