package render

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/pipetune/pipetune/internal/merge"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/pkg/report"
)

const nodes = "../../testdata/merged"

// TestMergedGolden writes the joined reports of a job in every format and holds it to the files under testdata/merged.
func TestMergedGolden(t *testing.T) {
	var list []*merge.Watch
	for _, name := range []string{"node-0.json", "node-1.json", "node-3.json"} {
		b := must.Get(os.ReadFile(filepath.Join(nodes, name)))(t)
		must.Get(report.Decode(bytes.NewReader(b)))(t) // a whole report, not only what is read of it
		list = append(list, must.Get(merge.Decode(name, b))(t))
	}
	m := must.Get(merge.Run(list, merge.Options{Tool: report.Tool{Name: "pipetune", Version: "0.3.0"},
		Left: []report.LeftOut{{File: "node-2.json", Reason: report.LeftUnreadable,
			Why: "invalid report: unexpected end of JSON input"}}}))(t)
	for _, f := range Formats() {
		golden := filepath.Join(nodes, "job"+f.Suffix)
		t.Run(filepath.Base(golden), func(t *testing.T) {
			compareToFile(t, golden, written(t, f.Name, Merged(m), Options{}))
		})
	}
}
