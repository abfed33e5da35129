package saved

import (
	"bufio"
	"strings"
	"testing"
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
