package rules

import (
	"cmp"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/pkg/report"
)

// A case is one part of a rule's txtar: what is seen, and what the rule is to say of it. Its lines are
//
//	signal NAME VALUE            a derived signal; VALUE may end in Ki, Mi or Gi
//	fact KEY VALUE               a fact, by the name of its field in evidence.Facts, and as setFact has it
//	candidate NAME SECONDS STORED    what --try measured: time per item, and its size over that of the sample as it is
//	decoder NAME SECONDS         what a library of the user's Python needs for an item
//	hook KEY VALUE               what a launched job reported itself, by the keys of setHook; the first makes it so
//	spread CLASS:COUNT ...       how long batches took to make, by the classes of metric.HookFetchSpread
//	code LIBRARY SHARE           what a worker executes
//	location FILE:LINE           where the finding points; without this line it is not looked at
//	want error|warning|info      the severity of the one finding
//	summary FRAGMENT             part of its summary
//	recommend SETTING | FROM | TO    one of its recommendations; FROM is - where it was not observed
//	caveat LINE                  the caveat of one of its recommendations
//	why FRAGMENT                 part of the reason of one of its recommendations
//	command LINE                 the command of one of its recommendations
//	unknown SETTING              one of its recommendations has no effect that could be predicted
//	leaves SETTING               a setting of which it recommends nothing
//	reaches VALUE                what the upper end of its first recommendation's effect comes to at least
//	least VALUE                  what the lower end of its first recommendation's effect comes to at most
//	most VALUE                   what the upper end of its first recommendation's effect comes to at most
//	unhelpful FRAGMENT           part of one of its negative advices; - where it gives none
//	missing NAME                 a signal the abstention names
//	reason FRAGMENT              part of the abstention's reason
type ruleCase struct {
	evidence                                        *evidence.Evidence
	severity                                        report.Severity
	summary, reason, caveat, why, command, location string
	reaches, least, most                            float64
	recommend, leaves, unknown, unhelpful, missing  []string
}

func parseCase(text string) (ruleCase, error) {
	var c ruleCase
	known := names(metric.Derived, metric.HookDerived, metric.BenchDerived)
	values, facts, bench := map[string]evidence.Value{}, evidence.Facts{}, &evidence.Bench{}
	var batches []stat.Class
	words := map[string]*string{"location": &c.location, "summary": &c.summary, "reason": &c.reason,
		"caveat": &c.caveat, "why": &c.why, "command": &c.command, "want": (*string)(&c.severity)}
	numbers := map[string]*float64{"reaches": &c.reaches, "least": &c.least, "most": &c.most}
	lists := map[string]*[]string{"unknown": &c.unknown, "unhelpful": &c.unhelpful, "missing": &c.missing,
		"leaves": &c.leaves, "recommend": &c.recommend}
	for n, line := range strings.Split(text, "\n") {
		verb, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		rest = strings.TrimSpace(rest)
		var err error
		switch verb {
		case "", "#":
		case "signal":
			name, number, _ := strings.Cut(rest, " ")
			center, bounds, within := strings.Cut(strings.TrimSpace(number), " of ")
			var x float64
			if x, err = parseNumber(center); !known[name] {
				err = fmt.Errorf("no derived signal is called %q", name)
			}
			v := exactly(x)
			if within {
				_, err = fmt.Sscanf(bounds, "%g to %g", &v.Lo, &v.Hi)
			}
			values[name] = v
		case "fact":
			key, value, _ := strings.Cut(rest, " ")
			if value = strings.TrimSpace(value); key == "bound" {
				bench.Bound = value
				break
			}
			err = setFact(&facts, key, value)
		case "hook":
			key, value, _ := strings.Cut(rest, " ")
			err = setHook(&facts, key, strings.TrimSpace(value))
		case "spread":
			batches, err = classes(strings.Fields(rest))
		case "code":
			library, part, _ := strings.Cut(rest, " ")
			code := evidence.Code{Library: library}
			code.Share, err = parseNumber(strings.TrimSpace(part))
			facts.Code = append(facts.Code, code)
		case "candidate", "decoder":
			err = addTried(bench, verb, strings.Fields(rest))
		default:
			switch word, number, list := words[verb], numbers[verb], lists[verb]; {
			case word != nil:
				*word = rest
			case number != nil:
				*number, err = parseNumber(rest)
			case list != nil:
				*list = append(*list, rest)
			default:
				err = fmt.Errorf("unknown verb %q", verb)
			}
		}
		if err != nil {
			return c, fmt.Errorf("line %d: %w", n+1, err)
		}
	}
	c.evidence = evidence.New(values, facts)
	c.evidence.SetSpread(metric.HookFetchSpread, batches)
	bench.AsIs = evidence.Candidate{Name: "as-is", Item: values[metric.BenchItem.Name],
		Cold: values[metric.BenchColdItem.Name]}
	c.evidence.Bench = bench
	return c, nil
}

// classes are those of the times of batches: CLASS:COUNT.
func classes(words []string) (out []stat.Class, err error) {
	for _, w := range words {
		var c stat.Class
		if _, err := fmt.Sscanf(w, "%d:%g", &c.K, &c.Count); err != nil {
			return nil, fmt.Errorf("%q is no CLASS:COUNT: %w", w, err)
		}
		out = append(out, c)
	}
	return out, nil
}

func exactly(x float64) evidence.Value {
	return evidence.Value{Summary: stat.Exact(x), Basis: metric.Measured}
}

func addTried(b *evidence.Bench, verb string, words []string) error {
	numbers := make([]float64, len(words))
	for i := 1; i < len(words); i++ {
		var err error
		if numbers[i], err = parseNumber(words[i]); err != nil {
			return err
		}
	}
	switch {
	case verb == "candidate" && len(words) == 3:
		b.Candidates = append(b.Candidates, evidence.Candidate{Name: words[0], Item: exactly(numbers[1]),
			Stored: exactly(numbers[2])})
	case verb == "decoder" && len(words) == 2:
		b.Decoders = append(b.Decoders, evidence.Decoder{Name: words[0], Item: exactly(numbers[1])})
	default:
		return fmt.Errorf("%s takes a name and its numbers", verb)
	}
	return nil
}

func parseNumber(s string) (float64, error) {
	scale := 1.0
	for suffix, by := range map[string]float64{"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30} {
		if head, ok := strings.CutSuffix(s, suffix); ok {
			s, scale = head, by
		}
	}
	x, err := strconv.ParseFloat(s, 64)
	return x * scale, err
}

func setFact(f *evidence.Facts, key, value string) error {
	if inner, ok := strings.CutPrefix(key, "hdf5_"); ok {
		f.HDF5 = cmp.Or(f.HDF5, &evidence.HDF5{})
		return setField(inner, value, f.HDF5)
	}
	if inner, ok := strings.CutPrefix(key, "evaluation."); ok {
		f.OtherLoaders.Evaluation = cmp.Or(f.OtherLoaders.Evaluation, &evidence.LoaderCall{})
		return setField(inner, value, &f.OtherLoaders.Evaluation.Loader)
	}
	switch key {
	case "fed":
		kind, name, _ := strings.Cut(value, " ")
		f.Fed = &evidence.Fed{Threads: kind == "threads", Name: name}
	case "remote":
		address, part, _ := strings.Cut(value, " ")
		x, err := parseNumber(part)
		f.Remotes = append(f.Remotes, evidence.Remote{Address: address, Share: x})
		return err
	default:
		return setField(key, value, f)
	}
	return nil
}

// setField sets the field that a key names in the first of some structs that has it: pin_memory is PinMemory.
func setField(key, value string, rows ...any) error {
	name := strings.ReplaceAll(key, "_", "")
	for _, row := range rows {
		field := reflect.ValueOf(row).Elem().FieldByNameFunc(func(s string) bool { return strings.EqualFold(s, name) })
		if field.IsValid() {
			return setValue(field, value)
		}
	}
	return fmt.Errorf("unknown key %q", key)
}

func setValue(field reflect.Value, value string) (err error) {
	if field.Kind() == reflect.Pointer {
		field.Set(reflect.New(field.Type().Elem()))
		field = field.Elem()
	}
	switch to := field.Addr().Interface().(type) {
	case *string:
		*to = value
	case *bool:
		*to, err = strconv.ParseBool(value)
	case *int:
		*to, err = strconv.Atoi(value)
	case *stat.Summary:
		var x float64
		x, err = parseNumber(value)
		*to = stat.Exact(x)
	case *[]string:
		*to = strings.Split(value, ",")
	default:
		err = fmt.Errorf("%q is no word, number or truth", value)
	}
	return err
}

// caseFile is where a rule's cases lie.
func caseFile(r diagnose.Rule) string { return filepath.Join("testdata", fileOf(r.ID)+".txtar") }

// TestCases holds each rule to its own cases. A part's name begins with fires, quiet or abstains, with measured- before
// it where the evidence is a benchmark's.
func TestCases(t *testing.T) {
	for _, rule := range All() {
		archive, err := txtar.ParseFile(caseFile(rule))
		if err != nil {
			t.Errorf("%s: %v", rule.ID, err)
			continue
		}
		for _, part := range archive.Files {
			t.Run(rule.ID+"/"+part.Name, func(t *testing.T) {
				c := must.Get(parseCase(string(part.Data)))(t)
				judge := diagnose.Judge
				name, measured := strings.CutPrefix(part.Name, "measured-")
				if measured {
					judge = diagnose.JudgeMeasured
				}
				findings, abstained := judge(&rule, c.evidence)
				kind, _, _ := strings.Cut(name, "-")
				switch kind {
				case "fires":
					checkFires(t, c, findings, abstained)
				case "quiet":
					if len(findings)+len(abstained) > 0 {
						t.Errorf("not quiet: %+v %+v", findings, abstained)
					}
				case "abstains":
					checkAbstains(t, c, findings, abstained)
				default:
					t.Errorf("a case is named fires…, quiet… or abstains…, not %q", part.Name)
				}
			})
		}
	}
}

func checkFires(t *testing.T, c ruleCase, findings []report.Finding, abstained []report.Abstained) {
	t.Helper()
	if len(findings) != 1 || len(abstained) > 0 {
		t.Fatalf("got %d findings and abstentions %+v, want one finding", len(findings), abstained)
	}
	f := findings[0]
	if c.severity == "" || f.Severity != c.severity {
		t.Errorf("severity %q, want %q (score %.3f)", f.Severity, c.severity, f.Score)
	}
	if c.summary == "" || !strings.Contains(f.Summary, c.summary) {
		t.Errorf("summary %q lacks %q", f.Summary, c.summary)
	}
	for _, line := range c.unhelpful {
		said := strings.Join(f.WontHelp, "\n")
		if line == "-" && said != "" || line != "-" && !strings.Contains(said, line) {
			t.Errorf("negative advice %q, want %q", f.WontHelp, line)
		}
	}
	if c.location != "" && (f.Location == nil || fmt.Sprintf("%s:%d", f.Location.File, f.Location.Line) != c.location) {
		t.Errorf("location %+v, want %s", f.Location, c.location)
	}
	checkRecommendations(t, c, f.Recommendations)
	checkUnhelpful(t, f)
	whole := &report.Report{Kind: "diagnose", Findings: findings}
	if err := whole.Validate(); err != nil {
		t.Error(err)
	}
}

func checkRecommendations(t *testing.T, c ruleCase, all []report.Recommendation) {
	t.Helper()
	want := func(what string, is func(report.Recommendation) bool) {
		t.Helper()
		if !slices.ContainsFunc(all, is) {
			t.Errorf("want %s; there are %s", what, describeAll(all))
		}
	}
	for _, setting := range c.unknown {
		want(setting+" without an effect", func(r report.Recommendation) bool {
			return r.Setting == setting && r.Effect == nil
		})
	}
	for _, line := range c.recommend {
		want(line, func(r report.Recommendation) bool { return told(r) == line })
	}
	if c.why != "" {
		want("a reason with "+c.why, func(r report.Recommendation) bool { return strings.Contains(r.Why, c.why) })
	}
	if c.caveat != "" {
		want("the caveat "+c.caveat, func(r report.Recommendation) bool { return r.Caveat == c.caveat })
	}
	if c.command != "" {
		want("the command "+c.command, func(r report.Recommendation) bool { return r.Command == c.command })
	}
	for _, r := range all {
		if slices.Contains(c.leaves, r.Setting) {
			t.Errorf("recommends %s | %s, which it should leave", r.Setting, r.To)
		}
	}
	if len(all) > 0 && len(c.recommend) == 0 {
		t.Errorf("the case does not say which recommendation it expects; there are %s", describeAll(all))
	}
	if c.reaches+c.least+c.most == 0 {
		return
	}
	if len(all) == 0 || all[0].Effect == nil {
		t.Fatalf("%s, want an effect", describeAll(all))
	}
	if e := all[0].Effect; e.Hi < c.reaches || c.least > 0 && e.Lo > c.least || c.most > 0 && e.Hi > c.most {
		t.Errorf("effect %+v; want it to reach %g, begin at %g or below, and end at %g or below", *e, c.reaches,
			c.least, c.most)
	}
}

// told writes a recommendation as cases have it.
func told(r report.Recommendation) string {
	from := "-"
	if r.From != nil {
		from = *r.From
	}
	return r.Setting + " | " + from + " | " + r.To
}

func describeAll(rs []report.Recommendation) string {
	var lines []string
	for _, r := range rs {
		lines = append(lines, told(r))
	}
	return strings.Join(lines, "; ")
}

func checkAbstains(t *testing.T, c ruleCase, findings []report.Finding, abstained []report.Abstained) {
	t.Helper()
	if len(findings) > 0 || len(abstained) != 1 {
		t.Fatalf("got findings %+v and abstentions %+v, want one abstention", findings, abstained)
	}
	a := abstained[0]
	if len(c.missing) == 0 && c.reason == "" {
		t.Error("the case says neither what is missing nor why")
	}
	for _, name := range c.missing {
		if !strings.Contains(strings.Join(a.Missing, " "), name) {
			t.Errorf("missing %v does not name %s", a.Missing, name)
		}
	}
	if !strings.Contains(a.Reason, c.reason) || a.Reason == "" {
		t.Errorf("reason %q lacks %q", a.Reason, c.reason)
	}
}
