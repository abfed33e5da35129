//go:build reliability

package reliability

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/render"
	"github.com/pipetune/pipetune/internal/untrusted"
	"github.com/pipetune/pipetune/pkg/report"
)

// harmless is the target of what is shown of hostile text.
const harmless = "no control, bidirectional or zero-width character, valid UTF-8; the Markdown has the blocks, " +
	"columns and tags of a harmless name's, no link, no mention; JSON gives back the exact text"

var nameTrials = []trial{
	{id: "N1", fault: "hostile text in every string of a report or a comparison",
		made: "each of the payloads into all free strings of 6 reports and 5 comparisons, through every " +
			"writer; the Markdown by a CommonMark parser",
		target: harmless, run: hostileReports},
	{id: "N1-gate", fault: "hostile text at the gate it comes in through",
		made:   "each of the payloads through internal/untrusted, into JSON and back",
		target: "as N1, and the exact bytes can be told from what is shown", run: hostileAtTheGate},
	{id: "N1-files", fault: "hostile names of files and folders",
		made: "`bench-io` on a folder of pictures with each payload that can be a name, in a folder of such a " +
			"name; text, md, json, stderr",
		target: "as N1, exit 0", run: hostileFiles},
	{id: "N1-hdf5", fault: "hostile names inside an HDF5 file",
		made:   "`bench-io` on a file with datasets, groups, links and attributes so named by h5py",
		target: "as N1, exit 0, or 3 where no item of the dataset it chooses can be read", run: hostileDatasets},
	{id: "N1-process", fault: "hostile command lines, names of processes, control group and host",
		made: "`diagnose --pid` of a process with each payload as an argument, one as argv[0], and children " +
			"with each as comm (prctl), in a control group and a UTS namespace of such names",
		target: "as N1, in the recording too", run: hostileProcess},
	{id: "N1-gpu", fault: "hostile name of a GPU", made: "`doctor` with a libnvidia-ml that tells each payload " +
		"as the name", target: "as N1, exit 0", run: hostileGPU},
	{id: "N1-hook", fault: "hostile strings from inside the job",
		made:   "`diagnose -- python` of a script so named, with dataset and sampler classes so named",
		target: "as N1, the job unharmed", run: hostileHook},
	{id: "N3", fault: "lines to copy hold hostile paths", made: "every line of reports that is to be copied, " +
		"made of each payload that can be a path: `sh -n`, then run by sh and bash in a folder with programs of " +
		"their names that do nothing",
		target: "it parses, runs, and no marker appears", run: hostileCommands},
}

// closedKeys hold words of closed lists or tell rows apart; everything else in a report is free text.
var closedKeys = strings.Fields("schema schema_version kind class resource confidence basis severity unit how source " +
	"probe metric order cache handle gather tier mode storage outcome risk method answer comparable")

// poison puts a payload into every free string of decoded JSON. A plan's name is closed too.
func poison(v any, payload, key string) any {
	switch x := v.(type) {
	case map[string]any:
		for k := range x {
			if _, plan := x["risk"]; plan && k == "name" {
				continue
			}
			x[k] = poison(x[k], payload, k)
		}
	case []any:
		for i := range x {
			x[i] = poison(x[i], payload, key)
		}
	case string:
		if !slices.Contains(closedKeys, key) {
			return payload
		}
	}
	return v
}

// poisoned reads a file of JSON into v, with the payload in its strings. Bytes that are no UTF-8 are put in as they
// are.
func poisoned(s *stand, path, payload string, v any) {
	s.Helper()
	const stands = "PAYLOAD-STANDS-HERE"
	text := must.Get(json.Marshal(poison(fromJSON[any](s, path), stands, "")))(s)
	if utf8.ValidString(payload) {
		text = bytes.ReplaceAll(text, []byte(`"`+stands+`"`), must.Get(json.Marshal(payload))(s))
	} else {
		text = bytes.ReplaceAll(text, []byte(stands), []byte(payload))
	}
	if err := json.Unmarshal(text, v); err != nil {
		s.Fatalf("%s with %.30q: %v", path, payload, err)
	}
}

// workflowCommand is one annotation of GitHub Actions, with a title that is ours.
var workflowCommand = regexp.MustCompile(`^::(notice|warning|error) title=pipetune compare::`)

// writer is one format of a report or a comparison.
type writer struct {
	name  string
	write func(path, payload string) (string, error)
}

func hostileReports(s *stand) {
	reports, err := filepath.Glob("../../testdata/reports/*.json")
	comparisons, err2 := filepath.Glob("../../testdata/comparisons/*.comparison.json")
	if err != nil || err2 != nil || len(reports) < 5 || len(comparisons) < 4 {
		s.Fatalf("fixtures: %v %v, %v %v", reports, err, comparisons, err2)
	}
	outputs, exact := 0, 0
	each := func(paths []string, writers []writer) {
		for _, path := range paths {
			for _, w := range writers {
				shape := ""
				if strings.HasPrefix(w.name, "md") {
					shape = markdownShape(must.Get(w.write(path, "name"))(s))
				}
				for _, p := range payloads {
					out, err := w.write(path, p)
					outputs++
					switch {
					case err != nil:
						s.Errorf("%s of %s with %.30q: %v", w.name, path, p, err)
					case strings.HasPrefix(w.name, "json"):
						exact++ // its writer has compared
					case invisible(out, w.name == "text, coloured") != "":
						s.Errorf("%s of %s with %.30q lets %s through", w.name, path, p, invisible(out, false))
					case w.name == "github" && (strings.Count(out, "\n") != 1 || !workflowCommand.MatchString(out)):
						s.Errorf("%s of %s with %.30q is not one command: %q", w.name, path, p, out)
					case shape != "" && strings.TrimSpace(p) != "" && len(out) < 30_000:
						// an empty name has no row, and of a long text parts are left out
						if got := markdownShape(out); got != shape {
							s.Errorf("%s of %s with %.30q has another shape: %s", w.name, path, p, cmp.Diff(shape, got))
						}
					}
				}
			}
		}
	}
	each(reports, reportWriters(s))
	each(comparisons, comparisonWriters(s))
	s.measured("%d payloads, %d outputs of %d reports and %d comparisons; %d JSON texts came back as they were",
		len(payloads), outputs, len(reports), len(comparisons), exact)
}

func reportWriters(s *stand) (all []writer) {
	add := func(name string, f render.Format, color bool) {
		all = append(all, writer{name, func(path, payload string) (string, error) {
			var r report.Report
			poisoned(s, path, payload, &r)
			var b, again bytes.Buffer
			if err := f.Write(&b, render.Report(&r), render.Options{Color: color}); err != nil || f.Name != "json" {
				return b.String(), err
			}
			back, err := report.Decode(bytes.NewReader(b.Bytes()))
			if err == nil {
				err = report.Encode(&again, back)
			}
			if err != nil {
				return "", err
			}
			if !bytes.Equal(again.Bytes(), b.Bytes()) || r.Tool.Version != back.Tool.Version &&
				utf8.ValidString(payload) {
				s.Errorf("JSON of %s with %.30q does not come back as it was", path, payload)
			}
			return b.String(), nil
		}})
	}
	for _, f := range render.Formats() {
		if add(f.Name, f, false); f.Name == "text" {
			add("text, coloured", f, true)
		}
	}
	return all
}

func comparisonWriters(s *stand) (all []writer) {
	for _, f := range render.ComparisonFormats() {
		all = append(all, writer{f.Name, func(path, payload string) (string, error) {
			var c report.Comparison
			poisoned(s, path, payload, &c)
			var b bytes.Buffer
			err := f.Write(&b, render.Comparison(&c), render.Options{})
			return b.String(), err
		}})
	}
	return all
}

// hostileAtTheGate measures what is lost where text comes in. The gate shows each byte that is not plainly printable as
// an escape and leaves a backslash alone, so that text may pass it again when a recording is read.
func hostileAtTheGate(s *stand) {
	told, ambiguous, cut := 0, 0, 0
	for _, p := range payloads {
		shown := untrusted.Sanitize(p)
		if why := invisible(shown, false); why != "" {
			s.Errorf("%.30q passes the gate with %s", p, why)
		}
		line, err := json.Marshal(shown)
		var back string
		if err == nil {
			err = json.Unmarshal(line, &back)
		}
		if err != nil || back != shown || untrusted.Sanitize(back) != shown {
			s.Errorf("%.30q does not come back from JSON as it went in: %v", p, err)
		}
		switch {
		case len(shown) >= untrusted.MaxBytes:
			cut++
		case unescaped(shown) == p:
			told++
		default:
			ambiguous++
		}
	}
	s.measured("%d of %d payloads can be told byte by byte from what is shown; %d longer than %d bytes are cut", told,
		len(payloads), cut, untrusted.MaxBytes)
	if ambiguous > 0 {
		s.missed("%d that hold a backslash followed by what looks like one of the gate's escapes cannot be told "+
			"apart from the byte itself: a gate that text may pass twice cannot also escape its own escapes", ambiguous)
	}
	if cut > 0 {
		s.missed("%d longer than %d bytes are cut, and say so by an ellipsis: text of that length is bounded on "+
			"purpose", cut, untrusted.MaxBytes)
	}
}

// unescaped undoes what the gate writes.
func unescaped(shown string) string {
	var b []byte
	for len(shown) > 0 {
		if len(shown) > 1 && shown[0] == '\\' && strings.IndexByte("nrtxuU", shown[1]) >= 0 {
			if c, rune, rest, err := strconv.UnquoteChar(shown, 0); err == nil {
				if shown = rest; rune {
					b = utf8.AppendRune(b, c)
				} else {
					b = append(b, byte(c))
				}
				continue
			}
		}
		b, shown = append(b, shown[0]), shown[1:]
	}
	return string(b)
}
