package sampler

import "github.com/pipetune/pipetune/internal/metric"

// tally is a sink that keeps the last value and the number of readings of each series.
type tally struct {
	values map[string]float64
	counts map[string]int
	events []string
	attrs  map[string]map[string]string // by kind and entity
	unseen []string
}

func newTally() *tally {
	return &tally{values: map[string]float64{}, counts: map[string]int{}, attrs: map[string]map[string]string{}}
}

func (s *tally) Add(d metric.Desc, entity string, v float64) {
	s.values[d.Name+" "+entity] = v
	s.counts[d.Name+" "+entity]++
}

func (s *tally) Event(kind, entity string, attrs map[string]string) {
	s.events = append(s.events, kind+" "+entity)
	s.attrs[kind+" "+entity] = attrs
}

func (s *tally) Unseen(signal, entity, reason, _ string) {
	s.unseen = append(s.unseen, signal+" "+entity+": "+reason)
}
