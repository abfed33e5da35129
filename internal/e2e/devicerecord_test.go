//go:build e2e

package e2e

import (
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

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
func (r deviceRow) record(folder, recording string) error {
	text, err := os.ReadFile(recording)
	if err != nil {
		return err
	}
	index := filepath.Join(folder, "truth.json")
	var rows []recordedTruth
	switch old, err := os.ReadFile(index); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		if err := json.Unmarshal(old, &rows); err != nil {
			return err
		}
	}
	name, w := r.loop.name+"-"+r.how+".jsonl", r.worst()
	rows = slices.DeleteFunc(rows, func(x recordedTruth) bool { return x.Recording == name })
	rows = append(rows, recordedTruth{
		Recording: name, Class: r.loop.class, Open: r.loop.open,
		Stall: digits(w.Starved, 4), Most: digits(w.Starved+w.Unfed, 4),
		Headroom: digits(r.headroom(), 3), OthersCores: digits(r.others, 2),
	})
	slices.SortFunc(rows, func(a, b recordedTruth) int { return cmp.Compare(a.Recording, b.Recording) })
	truth, err := json.MarshalIndent(rows, "", " ")
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(filepath.Join(folder, name), text, 0o644),
		os.WriteFile(index, append(truth, '\n'), 0o644))
}

func digits(x float64, n int) float64 { return math.Round(x*math.Pow10(n)) / math.Pow10(n) }
