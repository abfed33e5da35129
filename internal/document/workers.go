package document

import (
	"fmt"
	"strconv"

	"github.com/pipetune/pipetune/internal/timeline"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// phaseSenses are what parts of the time of those who make batches stand for; what is not listed is work.
var phaseSenses = map[string]Sense{"idle, ahead": Idle, "stopped": Idle, "waiting for storage": Waiting,
	"opening, closing files": Waiting, "waiting for a file lock": Waiting, "waiting for a lock": Waiting,
	"waiting elsewhere": Waiting, "handing a batch over": Other, "training, not loading": Other, "not loading": Other}

func phaseSense(name string) Sense {
	if s, known := phaseSenses[name]; known {
		return s
	}
	return Working
}

// workerParts is what those who make the batches did over time.
func workerParts(r *report.Report, t *timeline.Timeline, axis Axis) []Part {
	c := t.Workers
	if c == nil {
		return nil
	}
	kinds := map[string]string{"worker": "workers", "process": "processes", "thread": "threads"}
	s := &Strips{Title: "What the " + kinds[c.Of] + " did", About: r.DataLoader().FedBy, Axis: axis}
	totals := make([][]float64, len(c.Rows))
	used := make([]float64, len(c.States))
	all := 0.0
	for i, row := range c.Rows {
		totals[i] = make([]float64, len(c.States)+1)
		strip := Strip{c.Of + " " + strconv.Itoa(row.Number), row.Buckets}
		if row.Number == 0 {
			strip.Name = fmt.Sprintf("all %d", c.All)
		}
		for _, b := range row.Buckets {
			for k, x := range b.Of {
				totals[i][k] += x * (b.To - b.From)
				used[k] += x * (b.To - b.From)
			}
			totals[i][len(c.States)] += b.To - b.From
			all += b.To - b.From
		}
		s.Rows = append(s.Rows, strip)
	}
	s.Table = &Table{Columns: []Column{{"share of its time", false}}}
	for k, name := range c.States {
		state := State{Name: name, Sense: phaseSense(name)}
		if used[k] > 0 {
			state.Figure = unit.Percent(used[k] / all)
			s.Table.Columns = append(s.Table.Columns, Column{name, true})
		}
		s.States = append(s.States, state)
	}
	for i, row := range s.Rows {
		line := []string{row.Name}
		for k := range c.States {
			if used[k] > 0 {
				line = append(line, unit.Percent(totals[i][k]/totals[i][len(c.States)]))
			}
		}
		s.Table.add(line...)
	}
	return []Part{s}
}
