package lint

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/pipetune/pipetune/internal/must"
)

// samples are results to write: of all rules' examples, of a notebook, of nothing, and of names that are no text.
func samples(t *testing.T) map[string]Result {
	t.Helper()
	sources := map[string]string{"broken.py": "x = (\n", "book.ipynb": notebook}
	for _, r := range All() {
		sources[strings.TrimPrefix(r.ID, "lint/")+".py"] = example(written(r.ID), "Before")
	}
	_, all := judge(t, sources)
	odd := all
	odd.Findings = append([]Finding{}, all.Findings[:3]...)
	odd.Findings[0].File, odd.Findings[1].File, odd.Findings[2].File = "/abs/a b%.py", "b\xff\x1b[2J.py", "a:b,c\nd.py"
	return map[string]Result{"all": all, "odd": odd, "none": {Files: 1, Findings: []Finding{}, Unjudged: []Unjudged{}}}
}

const notebook = `{"nbformat": 4, "cells": [{"cell_type": "markdown", "source": "# Training"},
 {"cell_type": "code", "source": ["%matplotlib inline\n", "!pip install torch \\\n", "   torchvision\n", "files = !ls\n", "from torch.utils.data import DataLoader\n"]},
 {"cell_type": "code", "source": "%%bash\nnot python ("},
 {"cell_type": "code", "source": ["\n", "loader = DataLoader(data, batch_size=8, persistent_workers=True)\n"]}]}`

// TestSARIFIsValid holds what is written to the schema that OASIS publishes.
func TestSARIFIsValid(t *testing.T) {
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	schema := must.Get(c.Compile("testdata/sarif-schema-2.1.0.json"))(t)
	for name, result := range samples(t) {
		var b bytes.Buffer
		must.Do(t, writeSARIF(&b, result, "1.2.3"))
		if err := schema.Validate(must.Get(jsonschema.UnmarshalJSON(&b))(t)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := schema.Validate(map[string]any{"version": "2.1.0"}); err == nil {
		t.Error("the schema takes a log without runs")
	}
}

// TestWriters: each format names each finding and each place, and nothing that a terminal would take for a command.
func TestWriters(t *testing.T) {
	all := samples(t)
	for _, f := range Formats() {
		for name, result := range all {
			var b bytes.Buffer
			must.Do(t, f.Write(&b, result, "1.2.3"))
			for _, finding := range result.Findings {
				if !strings.Contains(b.String(), strings.ReplaceAll(finding.Rule, ":", "%3A")) {
					t.Errorf("%s: %s is not in it", f.Name, finding.Rule)
				}
			}
			if strings.ContainsAny(b.String(), "\x1b\x00") {
				t.Errorf("%s of %s: %q", f.Name, name, b.String())
			}
			for _, u := range result.Unjudged { // of text, the command names them on stderr
				if f.Name != "text" && !strings.Contains(b.String(), strings.Trim(u.Why, "\x1b\n")[:4]) {
					t.Errorf("%s: %s is not in it", f.Name, u.File)
				}
			}
			if lines := len(result.Findings) + len(result.Unjudged); f.Name == "github" &&
				strings.Count(b.String(), "\n") != lines {
				t.Errorf("github: %d lines for %d places", strings.Count(b.String(), "\n"), lines)
			}
			if (f.Name == "json" || f.Name == "sarif") && !json.Valid(b.Bytes()) {
				t.Errorf("%s of %s is no JSON", f.Name, name)
			}
			if err := f.Write(full{}, result, ""); err == nil &&
				(f.Name != "github" || len(result.Findings)+len(result.Unjudged) > 0) {
				t.Errorf("%s: a writer that takes nothing is no error", f.Name)
			}
		}
	}
	var b bytes.Buffer
	must.Do(t, writeText(&b, all["all"], ""))
	for _, want := range []string{
		"book.ipynb:cell 4:2:60: lint/needs-workers persistent_workers is given",
		"workers-restart.py:3:10: lint/workers-restart the workers end with every epoch (loop in line 4)",
		"  help: persistent_workers=True\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

var _ io.Writer = full{}
