//go:build e2e

package e2e

import (
	"cmp"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/pkg/report"
)

// recordedTruth is a row of truth.json beside the recordings that internal/replay replays.
type recordedTruth struct {
	Recording   string
	Class       []report.Class // any of these is right
	Open        bool           // no counter reported whether the device was busy
	Stall, Most float64        // the data stall; with the time in which a neighbour's work hides it
	Headroom    float64        // the rate with data for free over the rate
	OthersCores float64        // CPUs that other programs used meanwhile
}

// record puts the recording of a watch and its truth into a folder, in the place of an earlier one of the same loop.
func (r deviceRow) record(t *testing.T, folder, recording string) {
	t.Helper()
	index := filepath.Join(folder, "truth.json")
	var rows []recordedTruth
	if isFile(index) {
		rows = must.Read(t, index, must.JSON[[]recordedTruth])
	}
	name, w := r.loop.name+"-"+r.how+".jsonl", r.worst()
	rows = slices.DeleteFunc(rows, func(x recordedTruth) bool { return x.Recording == name })
	rows = append(rows, recordedTruth{
		Recording: name, Class: r.loop.class, Open: r.loop.open,
		Stall: digits(w.Starved, 4), Most: digits(w.Starved+w.Unfed, 4),
		Headroom: digits(r.headroom(), 3), OthersCores: digits(r.others, 2),
	})
	slices.SortFunc(rows, func(a, b recordedTruth) int { return cmp.Compare(a.Recording, b.Recording) })
	copyFile(t, recording, filepath.Join(folder, name))
	must.Do(t, os.WriteFile(index, append(must.Get(json.MarshalIndent(rows, "", " "))(t), '\n'), 0o644))
}

func digits(x float64, n int) float64 { return math.Round(x*math.Pow10(n)) / math.Pow10(n) }
