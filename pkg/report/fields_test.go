package report

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// units are those of fields by the end of their name.
var units = []struct{ suffix, unit string }{{"_per_s", "1/s"}, {"_s", "s"}, {"_bytes", "bytes"}, {"_ratio", "ratio"},
	{"_times", "factor"}}

func unitOf(name string) string {
	for _, u := range units {
		if strings.HasSuffix(name, u.suffix) || strings.Contains(name, u.suffix+"_") && u.suffix != "_s" {
			return u.unit
		}
	}
	return ""
}

// zero says what it means that a field is absent, null or empty.
func zero(t reflect.Type, options string) string {
	switch kind := t.Kind(); {
	case kind == reflect.Pointer && options == "":
		return "null"
	case kind == reflect.Pointer:
		return "absent: not known"
	case options != "" && kind == reflect.Bool:
		return "absent: false"
	case options != "" && (kind == reflect.Slice || kind == reflect.Map):
		return "absent: none"
	case options != "" && kind == reflect.String:
		return "absent: none"
	case options != "":
		return "absent: 0"
	case kind == reflect.Slice:
		return "[]: none"
	}
	return ""
}

func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return typeName(t.Elem())
	case reflect.Slice:
		return "list of " + typeName(t.Elem())
	case reflect.Map:
		return "object of " + typeName(t.Elem())
	case reflect.Struct:
		return "[" + t.Name() + "](#" + strings.ToLower(t.Name()) + ")"
	case reflect.Float64:
		return "number"
	case reflect.Int, reflect.Int64:
		return "integer"
	}
	return t.Kind().String()
}

// reference is the page of all fields.
func (s source) reference() []byte {
	var b bytes.Buffer
	b.WriteString("# Fields of a report, a comparison and merged reports\n\nWritten from the Go types by `go test " +
		"./pkg/report -update`, as are the JSON Schemas " +
		"[report.json](schema/report.json),\n[comparison.json](schema/comparison.json) and " +
		"[merged.json](schema/merged.json) (draft 2020-12). Names carry base units; numbers are finite. A minor " +
		"version adds fields and\nchanges none: readers ignore what they do not know. Null is not known, unless the " +
		"meaning says otherwise.\n")
	done := map[string]bool{}
	var write func(t reflect.Type)
	write = func(t reflect.Type) {
		if done[t.Name()] {
			return
		}
		done[t.Name()] = true
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| field | type | unit | absent, null or empty | meaning "+
			"|\n|---|---|---|---|---|\n", t.Name(), s.docs[t.Name()])
		var inner []reflect.Type
		for _, f := range fieldsOf(t) {
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			plain := f.Type
			for plain.Kind() == reflect.Pointer || plain.Kind() == reflect.Slice || plain.Kind() == reflect.Map {
				plain = plain.Elem()
			}
			values := wordsOf(t.Name() + "." + f.Name)
			if plain.Kind() == reflect.String && plain.Name() != "string" {
				values = s.enums[plain.Name()]
			}
			meaning := s.doc(t, f)
			if list := quotedList(values); list != "" {
				meaning = list + ". " + meaning
			}
			if plain.Kind() == reflect.Struct {
				inner = append(inner, plain)
				if meaning == "" {
					meaning = s.docs[plain.Name()]
				}
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", name, typeName(f.Type), unitOf(name),
				zero(f.Type, options), strings.NewReplacer("|", "\\|", "*", "\\*", "<",
					"&lt;").Replace(strings.TrimSpace(meaning)))
		}
		for _, x := range inner {
			write(x)
		}
	}
	for _, f := range schemaFiles {
		write(f.of)
	}
	return b.Bytes()
}

func quotedList(values []string) string {
	var all []string
	for _, v := range slices.DeleteFunc(slices.Clone(values), func(v string) bool { return v == "" }) {
		all = append(all, "`"+v+"`")
	}
	return strings.Join(all, ", ")
}

// TestEachFieldSaysWhatItIs: a line of the reference without a meaning helps nobody.
func TestEachFieldSaysWhatItIs(t *testing.T) {
	for line := range strings.Lines(string(readSource(t).reference())) {
		if strings.HasPrefix(line, "| `") && strings.HasSuffix(line, "|  |\n") {
			t.Errorf("a comment is wanted: %s", line)
		}
	}
}
