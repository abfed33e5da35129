package patch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/untrusted"
	"github.com/pipetune/pipetune/pkg/report"
)

// answer is what the script writes. Names and diffs are bytes (base64 in JSON).
type answer struct {
	Refused  string                  `json:"refused"`
	File     []byte                  `json:"file"`
	Diff     []byte                  `json:"diff"`
	Settings []report.PatchedSetting `json:"settings"`
}

// mostOrigin bounds what is said about one value, in bytes.
const mostOrigin = 400

// decode checks an answer: the source it speaks of is the person's, the interpreter too, and neither is trusted. Every
// setting that was asked for is there once, and a diff is there exactly where a setting is changed.
func decode(text []byte, asked []Setting) (report.Patch, error) {
	var a answer
	if err := json.Unmarshal(text, &a); err != nil {
		return report.Patch{}, fmt.Errorf("the interpreter gave no answer: %w", err)
	}
	if a.Refused != "" {
		return report.Patch{}, errors.New(untrusted.Cut(a.Refused, mostOrigin).String())
	}
	p := report.Patch{File: string(a.File), Diff: string(a.Diff), Settings: []report.PatchedSetting{}}
	if p.File == "" {
		return report.Patch{}, errors.New("the interpreter's answer names no file")
	}
	changes := false
	for _, s := range a.Settings {
		if !slices.Contains(report.PatchHows, s.How) || s.Line < 0 || len(p.Settings) > len(asked)+3 {
			return report.Patch{}, errors.New("the interpreter's answer makes no sense")
		}
		changes = changes || s.How != report.PatchAlready && s.How != report.PatchElsewhere
		if s.From != nil {
			s.From = new(untrusted.Cut(*s.From, mostOrigin).String())
		}
		s.Setting = untrusted.Cut(s.Setting, 64).String()
		s.To, s.Origin = untrusted.Cut(s.To, mostOrigin).String(), untrusted.Cut(s.Origin, mostOrigin).String()
		p.Settings = append(p.Settings, s)
	}
	for _, w := range asked {
		if !slices.ContainsFunc(p.Settings, func(s report.PatchedSetting) bool { return s.Setting == w.Name }) {
			return report.Patch{}, fmt.Errorf("the interpreter's answer leaves out %s", untrusted.Cut(w.Name, 64))
		}
	}
	if changes != (p.Diff != "") || p.Diff != "" && !unified(a.Diff) {
		return report.Patch{}, errors.New("the interpreter's answer holds no diff that fits its settings")
	}
	return p, nil
}

// unified says whether text has the form of a diff of one file: two names, then hunks, and every line marked as patch
// expects it.
func unified(diff []byte) bool {
	lines := strings.Split(strings.TrimSuffix(string(diff), "\n"), "\n")
	if len(lines) < 4 || !bytes.HasSuffix(diff, []byte("\n")) || !strings.HasPrefix(lines[0], "--- ") ||
		!strings.HasPrefix(lines[1], "+++ ") || !strings.HasPrefix(lines[2], "@@ -") {
		return false
	}
	return !slices.ContainsFunc(lines[2:], func(l string) bool { return l == "" || !strings.Contains(" +-@\\", l[:1]) })
}
