package report

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pipetune/pipetune/internal/must"
)

const released = "../../testdata/reports/reopened.json"

func example(t testing.TB) *Report {
	t.Helper()
	return must.Get(Decode(bytes.NewReader(must.Get(os.ReadFile(released))(t))))(t)
}

// again is a report that was written and read.
func again(t *testing.T, r *Report) *Report {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, Encode(&b, r))
	return must.Get(Decode(&b))(t)
}

// examples are the reports of every released version of the schema.
func examples(t testing.TB) []string {
	t.Helper()
	paths, err := filepath.Glob("../../testdata/reports/*.json")
	if err != nil || len(paths) < 2 {
		t.Fatalf("no example reports: %v, %v", paths, err)
	}
	return paths
}

func TestRoundTrip(t *testing.T) {
	for _, path := range examples(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			want := must.Get(Decode(bytes.NewReader(must.Get(os.ReadFile(path))(t))))(t)
			if d := cmp.Diff(want, again(t, want), cmpopts.EquateEmpty()); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestListsAreNeverNull(t *testing.T) {
	var b bytes.Buffer
	must.Do(t, Encode(&b, &Report{Schema: Schema, SchemaVersion: SchemaVersion, Kind: "diagnose",
		Findings: []Finding{{Rule: "a/b", Severity: Info}}}))
	for _, list := range []string{"findings", "plans", "measurements", "abstained", "warnings", "gpus", "storage",
		"phases", "evidence", "recommendations"} {
		if strings.Contains(b.String(), `"`+list+`": null`) {
			t.Errorf("%s is null", list)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	const head = `{"schema":"pipetune.report","schema_version":"1.0.0","kind":"diagnose"`
	for name, c := range map[string]struct {
		file string
		want error
	}{
		"empty":            {"", ErrNotReport},
		"not JSON":         {"hello", ErrNotReport},
		"another schema":   {`{"schema":"x","schema_version":"1.0.0"}`, ErrNotReport},
		"newer major":      {`{"schema":"pipetune.report","schema_version":"2.0.0"}`, ErrNewer},
		"no version":       {`{"schema":"pipetune.report"}`, ErrNewer},
		"unknown kind":     {`{"schema":"pipetune.report","schema_version":"1.0.0","kind":"x"}`, ErrInvalid},
		"number too large": {head + `,"tool":{"overhead":{"cpu_ratio":1e999}}}`, ErrInvalid},
		"ratio above one": {head +
			`,"verdict":{"class":"gpu-bound","confidence":"low","step":{"input_wait_ratio":1.5}}}`, ErrInvalid},
		"unknown class":   {head + `,"verdict":{"class":"x","confidence":"low"}}`, ErrInvalid},
		"upside down":     {head + `,"joint":{"lo":2,"hi":1,"basis":"modelled"}}`, ErrInvalid},
		"key named twice": {head + `,"kind":"bench-io"}`, ErrInvalid},
		"inner key twice": {head + `,"x":[{"a":1,"b":{"a":2},"A":3}]}`, ErrInvalid},
		"too many values": {head + `,"findings":[` + strings.Repeat("{},", MaxValues) + `{}]}`, ErrInvalid},
		"unknown, many":   {head + `,"x":[` + strings.Repeat("0,", MaxValues) + `0]}`, ErrInvalid},
		"too deep":        {head + `,"x":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`, ErrInvalid},
		"deeper still": {head + `,"x":` + strings.Repeat(`{"a":`, 20_000) + "1" + strings.Repeat("}", 20_000) + `}`,
			ErrInvalid},
		"two reports":   {head + `}` + head + `}`, ErrInvalid},
		"unknown basis": {head + `,"metrics":{"a":{"basis":"guessed"}}}`, ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Decode(strings.NewReader(c.file)); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

func TestReadersIgnoreUnknownKeys(t *testing.T) {
	r, err := Decode(strings.NewReader(
		`{"schema":"pipetune.report","schema_version":"1.9.0","kind":"diagnose","from_the_future":{"a":[1]}}`))
	if err != nil || r.Kind != "diagnose" {
		t.Errorf("%v, %+v", err, r)
	}
}

func TestEncodeRefusesWhatIsNotFinite(t *testing.T) {
	r := example(t)
	r.Findings[0].Recommendations[0].Effect.After = math.NaN()
	var b bytes.Buffer
	if err := Encode(&b, r); !errors.Is(err, ErrInvalid) || b.Len() > 0 {
		t.Errorf("got %v and %d bytes", err, b.Len())
	}
}

// TestSameKeysInDifferentObjects holds the check for keys named twice to objects of their own.
func TestSameKeysInDifferentObjects(t *testing.T) {
	const file = `{"schema":"pipetune.report","schema_version":"1.9.0","kind":"diagnose","x":{"kind":["kind","kind",{"kind":"kind"},{"kind":null}],"y":{}},"z":{"x":{}}}`
	if _, err := Decode(strings.NewReader(file)); err != nil {
		t.Error(err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, path := range examples(f) {
		f.Add(must.Get(os.ReadFile(path))(f))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := Decode(bytes.NewReader(b))
		if err == nil && r.Validate() != nil {
			t.Fatal("decoded a report that does not validate")
		}
	})
}
