package diagnose

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/predict"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// ruledOut tells whether a finding says against a setting that it will not help.
func (l *Loader) ruledOut(r *report.Report, set predict.Setting) bool {
	now := l.Setting
	if now.Prefetch <= 0 {
		now.Prefetch = predict.DefaultPrefetch
	}
	for _, k := range predict.Knobs {
		if set.Workers == 0 && k != predict.NumWorkers {
			continue // without meaning then
		}
		from := k.Value(now)
		if r.RuledOut(string(k), &from, k.Value(set)) != nil {
			return true
		}
	}
	return false
}

// along is a setting with others changed along; what is not simulated is left out.
func (l *Loader) along(set predict.Setting, with []report.Value) predict.Setting {
	for _, w := range with {
		if changed, known := l.turned(set, w.Setting, w.To); known {
			// of what is not known, nothing is made of either value
			set = changed
		}
	}
	return set
}

// turned is a setting with one knob at another value; false where that is not simulated, or rests on what was not
// measured.
func (l *Loader) turned(set predict.Setting, knob, to string) (predict.Setting, bool) {
	k := predict.Knob(knob)
	set, ok := k.Turn(set, to)
	switch k {
	case predict.PrefetchFactor, predict.InOrder: // what they bring follows from how batches vary
		ok = ok && set.Workers > 0 && l.Fetch.Measured()
	case predict.PersistentWorkers:
		ok = ok && set.Workers > 0 && l.Epoch > 0 && !l.Anew
	}
	return set, ok
}

// alone is within what a change is said not to help that the model expects nothing of.
const alone = "that change and no other"

// price gives what a finding recommends the figure that plans have for the same change, and takes back what the model
// does not find worth a change: the finding then says against it why. Where the model cannot tell, what the rule says
// stands. A finding that is left without any change has nothing at stake: there is no cure for it, and it explains
// nothing.
func (s *subject) price(f *report.Finding) {
	l, why := s.absolute()
	if why != nil || len(f.Recommendations) == 0 {
		return
	}
	f.Recommendations = slices.DeleteFunc(f.Recommendations, func(c report.Recommendation) bool {
		why := l.against(c)
		if why != "" {
			deny(f, c, why, alone)
		}
		return why != ""
	})
	for i := range f.Recommendations {
		c := &f.Recommendations[i]
		if to, effect, ok := l.asked(*c); ok {
			c.Effect = effect
			if l.contended(to) {
				c.Caveat = also(byGroup, c.Caveat)
			}
		}
	}
	if len(f.Recommendations) == 0 {
		f.Score, f.Severity = 0, report.Info
	}
}

// against is what speaks against a change; "" where nothing does.
func (l *Loader) against(c report.Recommendation) string {
	if by := l.noRoom(c); by != predict.NoClamp {
		return fmt.Sprintf("%s: its queue would take more than may be used of %s", assigned(c), by)
	}
	if _, effect, ok := l.asked(c); ok && !effect.Worthwhile() {
		return fmt.Sprintf("%s: a simulation of the loader gives %s instead of %s", assigned(c),
			unit.Format(effect.After, effect.Unit), unit.Format(effect.Before, effect.Unit))
	}
	return ""
}

// asked is what the model makes of a recommendation that is given for its effect, with what it says is to be changed
// along; false where it is of no setting that is simulated, or rests on what this watch did not measure.
func (l *Loader) asked(c report.Recommendation) (to predict.Forecast, effect *report.Effect, ok bool) {
	set, ok := l.turned(l.Setting, c.Setting, c.To)
	if !ok || c.Effect == nil {
		return to, nil, false
	}
	return l.Predict(l.along(set, c.With), predict.Remedy{})
}

// noRoom is what has no room for a deeper queue that is recommended.
func (l *Loader) noRoom(c report.Recommendation) predict.Clamp {
	set, ok := predict.PrefetchFactor.Turn(l.Setting, c.To)
	if c.Setting != string(predict.PrefetchFactor) || !ok || set.Workers == 0 {
		return predict.NoClamp
	}
	return l.Room(set)
}

// assigned writes a recommendation as arguments, with what is to be changed along.
func assigned(c report.Recommendation) string {
	text := c.Setting + "=" + c.To
	for _, w := range c.With {
		text += ", " + w.Setting + "=" + w.To
	}
	return text
}

// also joins what is to be minded; either may be "".
func also(first, second string) string { return strings.Trim(first+"; "+second, "; ") }

// What to mind where the number of workers changes. An iterable dataset is copied into each worker, and each copy
// gives all of it unless the dataset's own code takes a share (torch.utils.data.IterableDataset): samples per second
// rise, and so does the number of times that training sees each sample.
const (
	replayed = "the dataset is iterable: each worker goes over all of it unless it takes its share by " +
		"torch.utils.data.get_worker_info, and of one in shards no more workers than shards get any; compare the " +
		"samples of an epoch"
	sharded       = "the dataset divides its %d shards among the workers"
	mayBeIterable = "if it is an IterableDataset, it has to share itself out between workers"
)

// sharing is what to mind of more workers; "" where the dataset is known to be asked by index, which the workers
// share in any case.
func sharing(e *evidence.Evidence) string {
	switch c := e.Reported().Loader; {
	case c.Class == "":
		return mayBeIterable
	case c.Shards != nil:
		return fmt.Sprintf(sharded, *c.Shards)
	case c.Iterable:
		return replayed
	}
	return ""
}

// mindSharing adds to a finding that recommends more workers what that does to an iterable dataset.
func mindSharing(e *evidence.Evidence, f *report.Finding) {
	if e.Bench != nil {
		return
	}
	for i := range f.Recommendations {
		if c := &f.Recommendations[i]; c.Setting == string(predict.NumWorkers) && !fewer(*c) {
			c.Caveat = also(c.Caveat, sharing(e))
		}
	}
}

// ofTrainingArguments are settings of a DataLoader that Hugging Face's TrainingArguments has under the prefix
// dataloader_ (transformers/training_args.py).
var ofTrainingArguments = []string{"num_workers", "prefetch_factor", "persistent_workers", "pin_memory"}

// mindTrainer adds to what a finding recommends how Hugging Face's Trainer calls it, where the job may have one. Of a
// launched job the patch says it, which knows who makes the loader.
func mindTrainer(e *evidence.Evidence, f *report.Finding) {
	if !e.Facts.Tokenizers || Hooked(e) || e.Facts.Fed != nil {
		return
	}
	for i := range f.Recommendations {
		if c := &f.Recommendations[i]; slices.Contains(ofTrainingArguments, c.Setting) {
			c.Caveat = also(fmt.Sprintf("if transformers' Trainer makes it: dataloader_%s of TrainingArguments",
				c.Setting), c.Caveat)
		}
	}
}

// fewer tells whether a recommendation is known to lower a number.
func fewer(c report.Recommendation) bool {
	if c.From == nil {
		return false
	}
	from, err := strconv.ParseFloat(*c.From, 64)
	to, err2 := strconv.ParseFloat(c.To, 64)
	return err == nil && err2 == nil && to < from
}
