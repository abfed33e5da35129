package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
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

func major(version string) int {
	head, _, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(head)
	if err != nil {
		return math.MaxInt // unreadable counts as newer: refuse rather than guess
	}
	return n
}

// Validate holds r to the contract: known words, finite numbers, ratios within 0..1. It reports the first breach.
func (r *Report) Validate() error {
	v := validator{}
	v.word("kind", r.Kind, "diagnose", "bench-io")
	if d := r.Verdict; d != nil {
		v.word("verdict.class", string(d.Class), "input-bound", "gpu-bound", "host-bound", "transfer-bound", "balanced",
			"inconclusive")
		v.word("verdict.resource", string(d.Resource), "", "storage", "hdf5", "cpu", "workers", "startup", "memory",
			"lock", "main-process")
		v.word("verdict.confidence", string(d.Confidence), "high", "medium", "low")
		v.ratio("verdict.step.input_wait_ratio", d.Step.InputWaitRatio)
		v.ratio("verdict.step.host_ratio", d.Step.HostRatio)
		v.ratio("verdict.step.h2d_ratio", d.Step.H2DRatio)
		v.ratio("verdict.step.device_ratio", d.Step.DeviceRatio)
		v.ratio("verdict.step.epoch_gap_ratio", d.Step.EpochGapRatio)
	}
	for name, m := range r.Metrics {
		v.finite("metrics."+name, m.Center, m.Lo, m.Hi)
		v.finite("metrics."+name+".windows", m.Windows...)
		if len(m.Windows) > MaxWindows {
			v.fail("metrics."+name+".windows", fmt.Sprintf("%d values, at most %d are allowed", len(m.Windows),
				MaxWindows))
		}
		v.basis("metrics."+name, m.Basis)
	}
	for _, f := range r.Findings {
		v.word("finding "+f.Rule+" severity", string(f.Severity), "error", "warning", "info")
		v.ratio("finding "+f.Rule+" score", &f.Score)
		for _, e := range f.Evidence {
			v.finite("finding "+f.Rule+" "+e.Metric, e.Value)
			v.basis("finding "+f.Rule+" "+e.Metric, e.Basis)
		}
		for _, c := range f.Recommendations {
			v.effect("finding "+f.Rule+" "+c.Setting, c.Effect)
		}
		for _, u := range f.Unhelpful {
			v.word("finding "+f.Rule+" unhelpful "+u.Setting, string(u.Direction), "up", "down", "to", "any")
		}
	}
	for _, d := range r.Decisions {
		v.word("decision "+d.Setting+" outcome", d.Outcome, DecisionOutcomes...)
		v.effect("decision "+d.Setting, d.Effect)
	}
	for _, t := range r.Thresholds {
		v.word("threshold "+t.Text, string(t.Answer), "passed", "failed", "cannot-tell")
		v.finite("threshold "+t.Text, t.Limit)
		v.figure("threshold "+t.Text, t.Value)
	}
	for _, p := range r.Phases {
		v.ratio("phase "+p.Name, &p.Ratio)
	}
	v.effect("joint", r.Joint)
	v.plans(r)
	v.launch(r)
	v.tuning(r)
	v.benchmark(r)
	v.forecast(r)
	newer := minor(r.SchemaVersion) > minor(SchemaVersion)
	for _, m := range r.Measurements {
		v.measurement(m, newer)
	}
	return v.err
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

type validator struct{ err error }

func (v *validator) fail(what, why string) {
	if v.err == nil {
		v.err = fmt.Errorf("%w: %s: %s", ErrInvalid, what, why)
	}
}

func (v *validator) word(what, got string, want ...string) {
	if !slices.Contains(want, got) {
		v.fail(what, fmt.Sprintf("%.40q is not a known word", got))
	}
}

func (v *validator) basis(what string, b Basis) {
	v.word(what+" basis", string(b), "measured", "inferred", "modelled", "assumed")
}

func (v *validator) finite(what string, xs ...float64) {
	for _, x := range xs {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			v.fail(what, "not a finite number")
		}
	}
}

// known is finite for figures that may be nil: not known.
func (v *validator) known(what string, xs ...*float64) {
	for _, x := range xs {
		if x != nil {
			v.finite(what, *x)
		}
	}
}

func (v *validator) figure(what string, f *Figure) {
	if f != nil {
		v.finite(what, f.Center, f.Lo, f.Hi)
	}
}

func (v *validator) invalid(word string) error {
	if v.err == nil {
		return nil
	}
	return fmt.Errorf("invalid %s: %s", word, strings.TrimPrefix(v.err.Error(), ErrInvalid.Error()+": "))
}

func (v *validator) ratio(what string, x *float64) {
	if x != nil && !(*x >= 0 && *x <= 1) {
		v.fail(what, "not within 0..1")
	}
}

func (v *validator) effect(what string, e *Effect) {
	if e == nil {
		return
	}
	v.finite(what, e.Before, e.After, e.Lo, e.Hi)
	v.basis(what, e.Basis)
	if e.Lo > e.Hi {
		v.fail(what, "interval upside down")
	}
}
