package cli

import (
	"bufio"
	"errors"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func TestWhatAFileIs(t *testing.T) {
	for content, want := range map[string]string{
		"":                          "empty",
		" \n":                       "empty",
		"\x89HDF\r\n\x1a\n\x00\x00": "an HDF5 file",
		"\xff\xd8\xff\xe0":          "a JPEG picture",
		"import torch\n":            "text",
		"\x00\x01\x02\x03":          "binary data",
		`{"a": 1}`:                  "JSON of another program",
		`[1, 2]`:                    "JSON of another program",
		`{"schema": "x"}`:           "JSON of another program",
		`{"kind": {}, "schema": "pipetune.comparison", "a"`: "a comparison that pipetune compare wrote",
		"VERDICT  INPUT-BOUND":                              "a report written as text",
		"\n<!-- pipetune:train -->\n":                       "Markdown or HTML",
		"{":                                                 "JSON of another program",
		"\xef\xbb\xbfhello":                                 "text",
		strings.Repeat("ä", 5000) + "\n":                    "text",
	} {
		if got := whatIs(bufio.NewReaderSize(strings.NewReader(content), 64<<10)); !strings.HasPrefix(got, want) {
			t.Errorf("%.40q: %q, want %q", content, got, want)
		}
	}
}

func TestValuesThatCannotBeRead(t *testing.T) {
	f := pflag.NewFlagSet("x", pflag.ContinueOnError)
	f.Duration("duration", 0, "")
	f.IntP("number", "n", 0, "")
	f.Bool("yes", false, "")
	for arg, want := range map[string]string{
		"--duration=3":  `--duration "3": a time with its unit, like 30s, 2m or 1h30m, is expected`,
		"--number=many": `--number "many": a whole number is expected`,
		"-nx":           `--number "x": a whole number is expected`,
		"--yes=maybe":   `--yes "maybe": true or false is expected`,
	} {
		if err := readable(f.Parse([]string{arg})); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", arg, err, want)
		}
	}
	if other := errors.New("unknown flag"); !errors.Is(readable(other), other) {
		t.Error("another mistake is not passed on")
	}
}
