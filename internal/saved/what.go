package saved

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/pipetune/pipetune/internal/untrusted"
	"github.com/pipetune/pipetune/pkg/report"
)

// fileMarks are beginnings of files that are given in place of a report by mistake.
var fileMarks = []struct{ mark, what string }{
	{"\x89HDF\r\n\x1a\n", "an HDF5 file: pipetune bench-io measures it"},
	{"\x89PNG", "a PNG picture"},
	{"\xff\xd8\xff", "a JPEG picture"},
	{"\x93NUMPY", "a NumPy array: pipetune bench-io measures it"},
	{"PK\x03\x04", "a zip archive, as PyTorch's checkpoints are"},
	{"\x1f\x8b", "compressed with gzip: unpack it first"},
	{"\x28\xb5\x2f\xfd", "compressed with zstd: unpack it first"},
	{"\x7fELF", "a program"},
	{"#!", "a script"},
	{"<!--", "Markdown or HTML, perhaps a report written as such: give the .json or .jsonl"},
	{"<", "HTML or XML"},
	{"--- ", "a patch"},
	{"diff ", "a patch"},
	{"VERDICT ", "a report written as text: give the .json or .jsonl"},
	{"RESULT ", "a report written as text: give the .json or .jsonl"},
}

// whatIs says what a file is that is no report, by its beginning.
func whatIs(br *bufio.Reader) string {
	head, err := br.Peek(4096)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return ""
	}
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	plain := bytes.TrimLeft(head, " \t\r\n")
	if len(plain) == 0 {
		return "empty"
	}
	for _, m := range fileMarks {
		if bytes.HasPrefix(plain, []byte(m.mark)) {
			return m.what
		}
	}
	if plain[0] == '{' || plain[0] == '[' {
		return whatJSON(plain)
	}
	if bytes.IndexByte(head, 0) >= 0 || !utf8.Valid(head[:max(0, len(head)-utf8.UTFMax)]) {
		return "binary data"
	}
	return "text"
}

// whatJSON says which JSON it is by the first word "schema" in it.
func whatJSON(head []byte) string {
	schema := ""
	dec := json.NewDecoder(bytes.NewReader(head))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return "JSON of another program"
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			break
		}
		var value any = new(json.RawMessage) // passed over
		if key == "schema" {
			value = &schema
		}
		if dec.Decode(value) != nil {
			break
		}
	}
	switch {
	case schema == report.ComparisonSchema:
		return "a comparison that pipetune compare wrote: it shows reports, not comparisons"
	case strings.HasPrefix(schema, "pipetune."):
		return "a file of pipetune, of the kind " + untrusted.Sanitize(schema)
	}
	return "JSON of another program"
}

// beginsAsJSON reports whether a file may be an object of JSON at all.
func beginsAsJSON(br *bufio.Reader) bool {
	head, _ := br.Peek(4096) // what it could not read, reading on tells
	return bytes.HasPrefix(bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n"), []byte("{"))
}
