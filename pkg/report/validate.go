package report

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
)

// words are the closed lists that strings are held to, by the field that they stand in. A field whose list is not here
// may be empty, or is checked by hand.
var words = map[string][]string{
	"Report.Kind": kinds, "Comparison.Kind": kinds, "Merged.Kind": {"diagnose"},
	"Verdict.Class":      texts(InputBound, GPUBound, HostBound, TransferBound, Balanced, Inconclusive),
	"Verdict.Resource":   texts(NoResource, OnStorage, HDF5, CPU, Workers, Startup, Memory, Lock, MainProcess),
	"Verdict.Confidence": texts(High, Medium, Low),
	"Metric.Basis":       bases, "Evidence.Basis": bases, "Effect.Basis": bases,
	"Finding.Severity": texts(Error, Warning, Info), "Unhelpful.Direction": texts(Up, Down, To, Any),
	"Decision.Outcome": DecisionOutcomes, "Plan.Name": PlanNames, "Plan.Risk": {"low", "medium", "high"},
	"Outlook.Outcome": Outcomes, "PatchedSetting.How": PatchHows, "Threshold.Answer": gates, "Gate.Answer": gates,
	"Benchmark.Kind":        {"hdf5", "image", "npy", "tar", "other"},
	"Layout.Storage":        {"contiguous", "chunked", "compact", "virtual", "external"},
	"Comparison.Comparable": texts(Comparable, WithCare, NotComparable),
	"Change.Answer":         texts(Better, Worse, Higher, Lower, Unclear),
	"Change.Method":         {ByRuns, ByWindows, ByIntervals},
	"Prediction.Outcome":    texts(Inside, Above, Below, Uncertain, Unjudged),
	"Spread.Of":             {"nodes", "ranks"}, "LeftOut.Reason": LeftReasons,
}

var (
	kinds = []string{"diagnose", "bench-io"}
	bases = texts(Measured, Inferred, Modelled, Assumed)
	gates = texts(GatePassed, GateFailed, GateUnclear)
)

func texts[T ~string](list ...T) (out []string) {
	for _, x := range list {
		out = append(out, string(x))
	}
	return out
}

// breach looks in x, which stands in a field (Type.Field), for what breaks the contract: where in x, and why. Numbers
// are finite, those tagged share lie within 0..1, what is tagged from is no less than the field it names, and strings
// are known words. Why is "" where all of x holds.
func breach(x reflect.Value, field string) (where, why string) {
	switch x.Kind() {
	case reflect.Pointer:
		if !x.IsNil() {
			return breach(x.Elem(), field)
		}
	case reflect.Slice:
		for i := range x.Len() {
			if where, why = breach(x.Index(i), field); why != "" {
				return fmt.Sprintf("[%d]%s", i, where), why
			}
		}
	case reflect.Map:
		for key, value := range x.Seq2() {
			if where, why = breach(value, field); why != "" {
				return "." + key.String() + where, why
			}
		}
	case reflect.Struct:
		for f, value := range x.Fields() {
			if where, why = breach(value, x.Type().Name()+"."+f.Name); why == "" {
				why = outside(x, f.Tag, reflect.Indirect(value))
			}
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); why != "" && name != "" {
				where = "." + name + where
			}
			if why != "" {
				return where, why
			}
		}
	case reflect.Float64:
		if math.IsNaN(x.Float()) || math.IsInf(x.Float(), 0) {
			return "", "not a finite number"
		}
	case reflect.String:
		if list := words[field]; list != nil && !slices.Contains(list, x.String()) {
			return "", fmt.Sprintf("%.40q is not a known word", x.String())
		}
	}
	return "", ""
}

// outside says why a number, a field of a struct, is not within its bounds. One that is not known is not held to them.
func outside(of reflect.Value, tag reflect.StructTag, x reflect.Value) string {
	switch from := tag.Get("from"); {
	case !x.IsValid():
	case tag.Get("share") != "" && !(x.Float() >= 0 && x.Float() <= 1):
		return "not within 0..1"
	case from != "" && x.Float() < of.FieldByName(from).Float():
		return "interval upside down"
	}
	return ""
}

// Validate holds r to the contract: known words, finite numbers, ratios within 0..1. It reports the first breach.
func (r *Report) Validate() error {
	v := validator{}
	v.walk(r)
	for name, m := range r.Metrics {
		v.check(len(m.Windows) <= MaxWindows, "metrics."+name+".windows", fmt.Sprintf("%d values, at most %d are "+
			"allowed", len(m.Windows), MaxWindows))
	}
	for _, p := range r.Phases { // not those of a Side
		v.check(p.Ratio >= 0 && p.Ratio <= 1, "phase "+p.Name, "not within 0..1")
	}
	v.patch(r)
	v.tuning(r)
	v.benchmark(r)
	v.check(r.Forecast == nil || r.Kind == "bench-io", "forecast", "of a "+r.Kind)
	newer := minor(r.SchemaVersion) > minor(SchemaVersion)
	for _, m := range r.Measurements {
		v.measurement(m, newer)
	}
	return v.err
}

// Validate holds c to the contract. It reports the first breach.
func (c *Comparison) Validate() error {
	v := validator{}
	v.walk(c)
	for _, x := range c.Changes {
		v.check((x.Lo == nil) == (x.Hi == nil) && (x.Lo == nil || *x.Lo <= *x.Hi), "change of "+x.Key,
			"interval upside down")
	}
	return v.invalid("comparison")
}

// Validate holds m to the contract. It reports the first breach.
func (m *Merged) Validate() error {
	v := validator{}
	v.walk(m)
	return v.invalid("merged report")
}

// validator keeps the first breach.
type validator struct{ err error }

func (v *validator) check(holds bool, what, why string) {
	if v.err == nil && !holds {
		v.err = fmt.Errorf("%w: %s: %s", ErrInvalid, what, why)
	}
}

// walk checks what the types say by themselves.
func (v *validator) walk(x any) {
	where, why := breach(reflect.ValueOf(x), "")
	v.check(why == "", strings.TrimPrefix(where, "."), why)
}

func (v *validator) word(what, got string, want []string) {
	v.check(slices.Contains(want, got), what, fmt.Sprintf("%.40q is not a known word", got))
}

// patch checks what only a launched job's report holds.
func (v *validator) patch(r *Report) {
	if r.Patch == nil {
		return
	}
	changes := false
	for _, s := range r.Patch.Settings {
		v.check(s.Line >= 0, "patch "+s.Setting, "a line below 0")
		changes = changes || s.How != PatchAlready && s.How != PatchElsewhere
	}
	v.check(r.Kind == "diagnose", "patch", "of a "+r.Kind)
	v.check(r.Patch.Diff == "" || changes, "patch", "a diff that changes no setting")
}

func (v *validator) tuning(r *Report) {
	t := r.Tuning
	if t == nil {
		return
	}
	v.word("tuning", t.Outcome, TuningOutcomes)
	v.check(t.Chosen == nil || *t.Chosen >= 0 && *t.Chosen < len(t.Rows), "tuning", "chosen is no row")
	for _, row := range t.Rows {
		v.word("tuning score", row.Score, texts("", Inside, Above, Below))
	}
}

// benchmark checks what only bench-io adds to a report.
func (v *validator) benchmark(r *Report) {
	b := r.Benchmark
	v.check(b != nil || r.Kind != "bench-io", "benchmark", "missing, though kind is bench-io")
	if b != nil {
		none := new(int64)
		v.check(min(b.Files, b.Bytes, b.LargestDir, b.Sample.Bytes, *cmp.Or(b.Items, none),
			*cmp.Or(b.ItemBytes, none)) >= 0, "benchmark", "a count below 0")
	}
}

// probeNames and labelKeys are what measurements of this schema version may carry.
var (
	probeNames = []string{ProbeOpen, ProbeRead, ProbeDecode, ProbePython, ProbeScaling, ProbeDevice, ProbeBatch,
		ProbeHDF5, ProbeTry, ProbeTier}
	labelKeys = []string{LabelCache, LabelOrder, LabelHandle, LabelWorkers, LabelBound, LabelDecoder, LabelFormat,
		LabelVersion, LabelDepth, LabelBlock, LabelMode, LabelBatchSize, LabelGather, LabelChunkCache, LabelCandidate,
		LabelCommand, LabelTier}
)

// measurement holds one figure to the contract. A report of a newer minor version may carry probes and labels that are
// not known here: readers pass over them.
func (v *validator) measurement(m Measurement, newer bool) {
	what := fmt.Sprintf("measurement %.40q of %.40q", m.Metric, m.Probe)
	if !newer {
		v.word("probe of "+what, m.Probe, probeNames)
		for key := range m.Labels {
			v.check(slices.Contains(labelKeys, key), what, fmt.Sprintf("%.40q is not a known label", key))
		}
	}
	x := m.Value
	v.check(m.Metric != "", what, "has no metric")
	v.check(x.Confidence >= 0 && x.Confidence <= 1, what+" confidence", "not within 0..1")
	v.check(x.Lo <= x.Hi, what, "interval upside down")
}

func (v *validator) invalid(word string) error {
	if v.err == nil {
		return nil
	}
	return fmt.Errorf("invalid %s: %s", word, strings.TrimPrefix(v.err.Error(), ErrInvalid.Error()+": "))
}
