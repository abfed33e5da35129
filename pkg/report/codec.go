package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// Errors of decoding and validation.
var (
	ErrNotReport = errors.New("not a pipetune report")
	ErrNewer     = errors.New("made by a newer pipetune")
	ErrInvalid   = errors.New("invalid report")
)

// Encode writes r as indented JSON, empty lists as []. It refuses a report that does not validate.
func Encode(w io.Writer, r *Report) error { return encode(w, r, "report") }

// EncodeComparison writes c as indented JSON, empty lists as []. It refuses numbers that are not finite and unknown
// words.
func EncodeComparison(w io.Writer, c *Comparison) error { return encode(w, c, "comparison") }

// EncodeMerged writes m as indented JSON, empty lists as []. It refuses numbers that are not finite and unknown words.
func EncodeMerged(w io.Writer, m *Merged) error { return encode(w, m, "merged reports") }

// encode writes x, which an error calls by the word for what it is.
func encode(w io.Writer, x interface{ Validate() error }, word string) error {
	if err := x.Validate(); err != nil {
		return err
	}
	fillLists(reflect.ValueOf(x))
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(x); err != nil {
		return fmt.Errorf("encoding %s: %w", word, err)
	}
	return nil
}

// Head tells a report from other JSON. What is to read only a part of many reports embeds it.
type Head struct {
	Schema  string `json:"schema"`
	Version string `json:"schema_version"`
}

// Check reports whether what begins so is a report that this version can read: ErrNotReport, ErrNewer, or nil.
func (h Head) Check() error {
	if h.Schema != Schema {
		return ErrNotReport
	}
	if major(h.Version) > major(SchemaVersion) {
		return fmt.Errorf("%w: report schema %.20q, this pipetune reads up to %s", ErrNewer, h.Version, SchemaVersion)
	}
	return nil
}

// Decode reads and validates a report. Errors wrap ErrNotReport, ErrNewer or ErrInvalid.
func Decode(r io.Reader) (*Report, error) {
	b, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading report: %w", err)
	}
	if len(b) > MaxBytes {
		return nil, fmt.Errorf("%w: larger than %d bytes", ErrInvalid, MaxBytes)
	}
	if err := DecodePart(b, &Head{}); err != nil {
		return nil, err
	}
	if err := checkShape(b); err != nil {
		return nil, err
	}
	var rep Report
	if err := json.Unmarshal(b, &rep); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrInvalid, err)
	}
	return &rep, rep.Validate()
}

// DecodePart reads of a report what part, a pointer to a struct that is a Head or embeds one, has fields for. It checks
// no more than that these are what they should be: for who reads thousands. Errors as of Decode.
func DecodePart(b []byte, part interface{ Check() error }) error {
	if err := json.Unmarshal(bytes.TrimSpace(b), part); err != nil && bytes.Contains(b, []byte(`"`+Schema+`"`)) {
		if err.Error() == "unexpected end of JSON input" {
			return fmt.Errorf("%w: the file is cut off after %d bytes", ErrInvalid, len(b))
		}
		return fmt.Errorf("%w: %v", ErrInvalid, err) // one that was edited by hand or cut off
	} else if err != nil {
		return ErrNotReport
	}
	return part.Check()
}

// major is the first number of a version.
func major(version string) int {
	head, _, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(head)
	if err != nil {
		return math.MaxInt // unreadable counts as newer: refuse rather than guess
	}
	return n
}

// minor is the second number of a version, 0 where there is none.
func minor(version string) int {
	_, rest, _ := strings.Cut(version, ".")
	second, _, _ := strings.Cut(rest, ".")
	n, err := strconv.Atoi(second)
	if err != nil {
		return 0 // no number: held to the contract of this version
	}
	return n
}

// fillLists makes absent lists that are written in any case empty ones, so that readers need not tell null from []. A
// list of which null says something is tagged so.
func fillLists(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			fillLists(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			fillLists(v.Index(i))
		}
	case reflect.Struct:
		for f, x := range v.Fields() {
			written := !strings.Contains(f.Tag.Get("json"), ",omitempty") && f.Tag.Get("null") == ""
			switch {
			case written && x.Kind() == reflect.Slice && x.IsNil():
				x.Set(reflect.MakeSlice(x.Type(), 0, 0))
			case written && x.Kind() == reflect.Map && x.IsNil():
				x.Set(reflect.MakeMap(x.Type()))
			default:
				fillLists(x)
			}
		}
	}
}
