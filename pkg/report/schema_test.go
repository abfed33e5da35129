package report

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/pipetune/pipetune/internal/must"
)

var update = flag.Bool("update", false, "write the schemas and the field reference anew")

// wordsOf is the closed list of a field of strings without a type of their own: that which Validate holds it to, or one
// that a reader of another kind or version is to tell apart by.
func wordsOf(field string) []string {
	switch field {
	case "Report.Schema":
		return []string{Schema}
	case "Comparison.Schema":
		return []string{ComparisonSchema}
	case "Merged.Schema":
		return []string{MergedSchema}
	case "Measurement.Probe":
		return probeNames
	}
	return words[field]
}

// source is what the Go files of this package say of its types.
type source struct {
	docs  map[string]string   // of a type, or of Type.Field
	enums map[string][]string // values of a type of strings
}

func readSource(t *testing.T) source {
	t.Helper()
	s := source{docs: map[string]string{}, enums: map[string][]string{}}
	for _, path := range must.Get(filepath.Glob("*.go"))(t) {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file := must.Get(parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments))(t)
		for _, d := range file.Decls {
			if d, ok := d.(*ast.GenDecl); ok {
				for _, spec := range d.Specs {
					s.take(d, spec)
				}
			}
		}
	}
	return s
}

func (s source) take(d *ast.GenDecl, spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		name := spec.Name.Name
		s.docs[name] = oneLine(d.Doc.Text())
		if fields, ok := spec.Type.(*ast.StructType); ok {
			for _, f := range fields.Fields.List {
				for _, n := range f.Names {
					s.docs[name+"."+n.Name] = oneLine(f.Doc.Text() + " " + f.Comment.Text())
				}
			}
		}
	case *ast.ValueSpec:
		if kind, ok := spec.Type.(*ast.Ident); ok && d.Tok == token.CONST {
			for _, v := range spec.Values {
				if text, err := strconv.Unquote(v.(*ast.BasicLit).Value); err == nil {
					s.enums[kind.Name] = append(s.enums[kind.Name], text)
				}
			}
		}
	}
}

// doc is what the source says of a field, of a struct's own or of one it embeds.
func (s source) doc(t reflect.Type, f reflect.StructField) string {
	if text, own := s.docs[t.Name()+"."+f.Name]; own {
		return text
	}
	for i := range t.NumField() {
		if e := t.Field(i); e.Anonymous {
			return s.doc(e.Type, f)
		}
	}
	return ""
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// node is a JSON Schema; its keys are written in this order.
type node struct {
	Schema      string           `json:"$schema,omitempty"`
	ID          string           `json:"$id,omitempty"`
	Title       string           `json:"title,omitempty"`
	Ref         string           `json:"$ref,omitempty"`
	Description string           `json:"description,omitempty"`
	Type        any              `json:"type,omitempty"`
	Enum        []string         `json:"enum,omitempty"`
	AnyOf       []node           `json:"anyOf,omitempty"`
	Items       *node            `json:"items,omitempty"`
	Required    []string         `json:"required,omitempty"`
	Properties  *properties      `json:"properties,omitempty"`
	Additional  *node            `json:"additionalProperties,omitempty"`
	Defs        map[string]*node `json:"$defs,omitempty"`
}

// properties keep the order of the fields.
type properties struct {
	names []string
	of    map[string]node
}

func (p properties) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, name := range p.names {
		if i > 0 {
			b.WriteByte(',')
		}
		value, err := marshal(p.of[name])
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%q:%s", name, value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func marshal(x any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(x)
	return bytes.TrimSpace(b.Bytes()), err
}

// schemaOf is the schema of a type of this package, in which readers may find keys they do not know.
func (s source) schemaOf(root reflect.Type, id string) *node {
	defs := map[string]*node{}
	out := s.object(root, defs)
	out.Schema, out.ID, out.Title, out.Defs = "https://json-schema.org/draft/2020-12/schema", id, root.Name(), defs
	return out
}

func (s source) object(t reflect.Type, defs map[string]*node) *node {
	n := &node{Type: "object", Description: s.docs[t.Name()], Properties: &properties{of: map[string]node{}}}
	for _, f := range fieldsOf(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		x := s.value(f.Type, t.Name()+"."+f.Name, defs)
		x.Description = s.doc(t, f)
		if options == "" {
			n.Required = append(n.Required, name)
			if f.Type.Kind() == reflect.Slice && strings.Contains(x.Description, "null") {
				x = nullable(x)
			}
		}
		if f.Type.Kind() == reflect.Pointer && options == "" {
			x = nullable(x)
		}
		n.Properties.names = append(n.Properties.names, name)
		n.Properties.of[name] = x
	}
	return n
}

// fieldsOf are a struct's fields in order, those of a struct it embeds as its own.
func fieldsOf(t reflect.Type) []reflect.StructField {
	return slices.DeleteFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool { return f.Anonymous })
}

func nullable(n node) node {
	if n.Ref != "" {
		return node{Description: n.Description, AnyOf: []node{{Ref: n.Ref}, {Type: "null"}}}
	}
	n.Type = []any{n.Type, "null"}
	return n
}

func (s source) value(t reflect.Type, field string, defs map[string]*node) node {
	switch t.Kind() {
	case reflect.Pointer:
		return s.value(t.Elem(), field, defs)
	case reflect.Struct:
		if defs[t.Name()] == nil {
			defs[t.Name()] = &node{} // a type may hold itself
			defs[t.Name()] = s.object(t, defs)
		}
		return node{Ref: "#/$defs/" + t.Name()}
	case reflect.Slice:
		items := s.value(t.Elem(), field, defs)
		return node{Type: "array", Items: &items}
	case reflect.Map:
		values := s.value(t.Elem(), field, defs)
		return node{Type: "object", Additional: &values}
	case reflect.String:
		if t.Name() != "string" {
			return node{Type: "string", Enum: s.enums[t.Name()]}
		}
		return node{Type: "string", Enum: wordsOf(field)}
	case reflect.Bool:
		return node{Type: "boolean"}
	case reflect.Int, reflect.Int64:
		return node{Type: "integer"}
	}
	return node{Type: "number"}
}

// schemaFiles are the schemas, by the type that each is of.
var schemaFiles = []struct {
	of       reflect.Type
	id, path string
}{
	{reflect.TypeFor[Report](), "urn:pipetune:report:1", "../../docs/schema/report.json"},
	{reflect.TypeFor[Comparison](), "urn:pipetune:comparison:1", "../../docs/schema/comparison.json"},
	{reflect.TypeFor[Merged](), "urn:pipetune:merged:1", "../../docs/schema/merged.json"},
}

// TestSchemasAreCurrent holds the schemas, and the reference of fields, to the types.
func TestSchemasAreCurrent(t *testing.T) {
	s := readSource(t)
	for _, f := range schemaFiles {
		var pretty bytes.Buffer
		must.Do(t, json.Indent(&pretty, must.Get(marshal(s.schemaOf(f.of, f.id)))(t), "", "  "))
		pretty.WriteByte('\n')
		current(t, f.path, pretty.Bytes())
	}
	current(t, "../../docs/report-fields.md", s.reference())
}

func current(t *testing.T, path string, want []byte) {
	t.Helper()
	if *update {
		must.Do(t, os.WriteFile(path, want, 0o644))
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not what the types are (%v): go test ./pkg/report -update", path, err)
	}
}

// TestReportsFitTheirSchemas: what lies in testdata, of every version that was released, is a report by its schema, and
// what is none is refused.
func TestReportsFitTheirSchemas(t *testing.T) {
	compiled := map[string]*jsonschema.Schema{}
	for _, f := range schemaFiles {
		compiled[wordsOf(f.of.Name() + ".Schema")[0]] = must.Get(jsonschema.NewCompiler().Compile(f.path))(t)
	}
	seen := map[string]int{}
	must.Do(t, filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".json") || !strings.Contains(path, "testdata") {
			return err
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(must.Get(os.ReadFile(path))(t)))
		if err != nil {
			return nil // of a test of what is broken
		}
		object, _ := value.(map[string]any)
		kind, _ := object["schema"].(string)
		if compiled[kind] == nil {
			return nil
		}
		seen[kind]++
		if err := compiled[kind].Validate(value); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		for _, wrong := range []struct {
			key   string
			value any
		}{{"kind", "something"}, {"warnings", nil}, {"tool", "pipetune"}} {
			before := object[wrong.key]
			object[wrong.key] = wrong.value
			if compiled[kind].Validate(value) == nil {
				t.Errorf("%s passes with %s: %v", path, wrong.key, wrong.value)
			}
			object[wrong.key] = before
		}
		return nil
	}))
	if seen[Schema] < 6 || seen[ComparisonSchema] < 4 || seen[MergedSchema] < 1 {
		t.Errorf("reports, comparisons and merged reports seen: %v", seen)
	}
}
