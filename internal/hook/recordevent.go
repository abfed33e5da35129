package hook

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/untrusted"
)

const (
	loaded = 1 // EventHook was recorded with state loaded
	off    = 2 // and with state off
)

// greet records in which trainers the hook spoke up, and where it fell silent.
func (l *ledger) greet(sink recording.Sink) {
	for _, p := range l.greetings {
		if p.entity == "" {
			continue
		}
		if p.greeted < loaded {
			p.greeted = loaded
			attrs := map[string]string{"state": "loaded"}
			put(attrs, "python", p.python)
			put(attrs, "torch", p.torch)
			attrs["sync_points"] = bit(l.config.SyncPoints)
			putNumber(attrs, "rank", p.rank)
			l.event(sink, recording.EventHook, p.entity, attrs)
		}
		if p.off != "" && p.greeted < off {
			p.greeted = off
			l.event(sink, recording.EventHook, p.entity, map[string]string{"state": "off", "reason": p.off})
		}
	}
	l.greetings = l.greetings[:0]
	for _, w := range l.recruits {
		if l.recruited < maxRecruits {
			l.recruited++
			l.event(sink, recording.EventHook, w.entity, map[string]string{"state": "worker", "loop": "loop/" + w.loop.name})
		}
	}
	l.recruits = l.recruits[:0]
}

// maxRecruits is of how many workers a recording tells for which loop they make batches: workers that are started anew each epoch must not take the room of
// what else is told.
const maxRecruits = 1024

// recruit notes for which loop a worker makes batches.
func (l *ledger) recruit(p *process, lp *loop) {
	if p != lp.trainer && p.entity != "" && len(l.recruits) < maxRecruits {
		l.recruits = append(l.recruits, recruit{p.entity, lp})
	}
}

// recordMade records the construction of a loop's loader, once.
func (l *ledger) recordMade(sink recording.Sink, lp *loop, entity string) {
	m := lp.made
	if m == nil || lp.madeSaid {
		return
	}
	lp.madeSaid = true
	attrs := map[string]string{"iterable": bit(m.Iterable)}
	for name, text := range map[string]string{"class": m.Class, "start_method": m.StartMethod, "dataset": m.Dataset, "sampler": m.Sampler,
		"collate": m.Collate, "function": m.Function} {
		put(attrs, name, l.name(text))
	}
	for name, n := range map[string]*int{"num_workers": m.NumWorkers, "prefetch_factor": m.Prefetch, "batch_size": m.BatchSize} {
		putNumber(attrs, name, n)
	}
	for name, b := range map[string]*bool{"persistent_workers": m.Persistent, "pin_memory": m.PinMemory, "drop_last": m.DropLast, "in_order": m.InOrder} {
		if b != nil {
			attrs[name] = bit(*b)
		}
	}
	if m.Timeout != nil {
		attrs["timeout"] = strconv.FormatFloat(*m.Timeout, 'g', -1, 64)
	}
	if m.Items != nil {
		attrs["items"] = strconv.FormatInt(*m.Items, 10)
	}
	if m.File != "" {
		attrs["file"], attrs["line"] = l.path(m.File), strconv.Itoa(m.Line)
	}
	var given []string
	for _, g := range m.Given[:min(len(m.Given), 64)] {
		given = append(given, strings.ReplaceAll(l.name(g), ",", ""))
	}
	put(attrs, "given", strings.Join(given, ","))
	l.event(sink, recording.EventLoader, entity, attrs)
}

// recordEpochs records the epochs that are over: those that ran to their end, and those before the one under way.
func (l *ledger) recordEpochs(sink recording.Sink, lp *loop, entity string) {
	if len(lp.epochs) == 0 {
		return
	}
	var over []int
	for number, e := range lp.epochs {
		if e.told.Ended || number < lp.newest {
			over = append(over, number)
		}
	}
	slices.Sort(over)
	for _, number := range over {
		e := lp.epochs[number]
		delete(lp.epochs, number)
		l.epochs--
		lp.recordedTo = max(lp.recordedTo, number+1)
		if each := epochsEach(number); number%each == 0 {
			l.event(sink, recording.EventEpoch, entity, l.epochAttrs(&e.told, each))
		}
	}
}

// epochsEach is which epochs have an event of their own: all of the first 200, then each 10th, from 2,000 on each 100th, and so on.
func epochsEach(number int) int {
	each := 1
	for number >= 200*each {
		each *= 10
	}
	return each
}

func (l *ledger) epochAttrs(e *epochTold, each int) map[string]string {
	attrs := map[string]string{
		"epoch": strconv.Itoa(e.Number), "begun_s": exact(e.Begun - int64(l.start)), "create_s": exact(e.Create), "steps": strconv.FormatInt(e.Steps, 10),
		"wait_s": exact(e.Wait), "wall_s": exact(e.Wall), "workers_born": strconv.Itoa(e.Born), "grad": bit(e.Grad),
	}
	if e.FirstWait != nil {
		attrs["first_wait_s"] = exact(*e.FirstWait)
	}
	if e.Ended && e.Drain != nil {
		attrs["drain_s"] = exact(*e.Drain)
	}
	if each > 1 {
		attrs["each"] = strconv.Itoa(each)
	}
	return attrs
}

// recordSlow records the items that are newly among the slowest of their loop, and again those that were measured twice as often since, or whose mean
// is no longer the recorded one: what was slow once, with a cold cache, is not slow for ever.
func (l *ledger) recordSlow(sink recording.Sink, lp *loop, entity string) {
	for i := range lp.slow {
		s := &lp.slow[i]
		mean := s.mean()
		news := i < slowTop && s.said == 0 || s.said > 0 && (s.times >= 2*s.said || mean > s.saidMicros*5/4 || mean < s.saidMicros*3/4)
		if !news || lp.slowSaid >= slowEach {
			continue
		}
		s.said, s.saidMicros = max(s.times, 1), mean
		lp.slowSaid++
		l.event(sink, recording.EventSlowItem, entity, map[string]string{"index": strconv.FormatInt(s.index, 10),
			"seconds": strconv.FormatFloat(float64(mean)/1e6, 'f', 6, 64), "times": strconv.FormatInt(s.times, 10)})
	}
}

// anew begins another recording: all that is known is to be recorded in it, but for the epochs of the one before.
func (l *ledger) anew() {
	l.events, l.greetings, l.recruits, l.recruited = 0, nil, nil, 0
	for kind, n := range l.notes {
		n.said = false
		l.notes[kind] = n
	}
	for _, p := range l.processes {
		if p.greeted = 0; p.off != "" && p.begun == 0 {
			l.greetings = append(l.greetings, p)
		}
		for _, a := range p.accounts {
			if a.loop != nil {
				l.recruit(p, a.loop)
			}
		}
	}
	for _, t := range l.trainers {
		if t.greeted = 0; t.begun != 0 {
			l.greetings = append(l.greetings, t)
		}
	}
	for _, lp := range l.loops {
		lp.madeSaid, lp.recorded, lp.slowSaid = false, 0, 0
		for _, s := range lp.siteList {
			s.said, s.fresh = false, true
		}
		for i := range lp.slow {
			lp.slow[i].said = 0
		}
		for k := range spreadClasses {
			lp.waits.fresh[k], lp.fetches.fresh[k] = lp.waits.counts[k] > 0, lp.fetches.counts[k] > 0
		}
	}
}

// name makes a name of the job fit to be recorded.
func (l *ledger) name(s string) string {
	if s == "" {
		return ""
	}
	return untrusted.Cut(untrusted.Path(untrusted.Cut(s, 4*MaxString).String(), l.config.Redaction), MaxString).String()
}

// path makes a file's name fit to be recorded: relative to the folder the job was started in where it lies below it.
func (l *ledger) path(s string) string {
	if below, ok := strings.CutPrefix(s, strings.TrimSuffix(l.config.Folder, "/")+"/"); ok && l.config.Folder != "" && below != "" {
		s = below
	}
	return l.name(s)
}

func exact(ns int64) string { return strconv.FormatFloat(seconds(ns), 'f', 9, 64) }

func bit(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

func put(attrs map[string]string, name, value string) {
	if value != "" {
		attrs[name] = value
	}
}

func putNumber(attrs map[string]string, name string, n *int) {
	if n != nil {
		attrs[name] = strconv.Itoa(*n)
	}
}
