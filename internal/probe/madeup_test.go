package probe

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/format"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/pkg/report"
)

// addMadeUp is all that docs/architecture.md says it takes to add a dataset format of a new kind: its row, and its
// reader. The program that is its own worker process calls it as it starts.
func addMadeUp() {
	format.Table = append(format.Table, format.Format{Name: "made-up", Kind: "made-up", Mark: "MADE UP\n",
		Endings: ".madeup", Many: true, Items: format.Items{Words: "lines"}})
	dataset.Readers["made-up"] = dataset.Reader{Open: openMadeUp}
}

// madeUp is a file whose items are lines, behind one that says so.
type madeUp struct{ lines [][]byte }

func openMadeUp(_ dataset.Source, f dataset.File) (dataset.Handle, error) {
	content, err := os.ReadFile(string(f.Path))
	return madeUp{bytes.Split(bytes.TrimSpace(content), []byte("\n"))}, err
}

func (m madeUp) Items() int64 { return int64(len(m.lines) - 1) }

func (m madeUp) Read(item dataset.Ref, buf []byte) ([]byte, error) {
	return append(buf[:0], m.lines[item.Index+1]...), nil
}

func (m madeUp) Close() error { return nil }

func TestFormatIsOneRowAndOneFile(t *testing.T) {
	dir := onDisk(t)
	content := append([]byte("MADE UP\n"), bytes.Repeat([]byte("an item of 18 bytes\n"), 500)...)
	for _, name := range []string{"a.madeup", "b.madeup", "notes.txt"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	found, err := dataset.Survey(dir, dataset.SurveyOptions{})
	if err != nil || found.Kind != "made-up" || found.Format != "made-up" || found.Items == nil ||
		*found.Items != 1000 {
		t.Fatalf("surveyed %+v, %v", found, err)
	}
	if kind := string(found.Kind); format.Kind(kind).Items().Words != "lines" {
		t.Errorf("%s has no words", kind)
	}
	if f, data := format.OfName("x.MADEUP"); !data || !f.Many {
		t.Errorf("by its name: %+v, data %v", f, data)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got, err := Run(ctx, newRunner(t), found.Sample, Options{Budget: 2 * time.Second, NoCold: true}, nil)
	if err != nil || len(got.Unread) != 0 {
		t.Fatalf("measured %+v, %v", got, err)
	}
	probes := map[string]bool{}
	for _, m := range got.Rows.Measurements() {
		probes[m.Probe] = true
	}
	for _, probe := range []string{report.ProbeOpen, report.ProbeRead, report.ProbeDevice, report.ProbeScaling} {
		if !probes[probe] {
			t.Errorf("nothing of probe %s: %v", probe, got.Abstained)
		}
	}
}
