package hook

// The kinds of messages.
const (
	kindHello  = "hello"
	kindLoader = "loader"
	kindEpoch  = "epoch"
	kindSteps  = "steps"
	kindWork   = "work"
	kindOff    = "off"
)

const maxPID = 1 << 22 // the kernel's limit of process numbers (PID_MAX_LIMIT, linux/threads.h)

// sound says whether a message is one that a hook can have sent. Totals are held against their bounds where they are booked.
func sound(m *message) bool {
	if m.V != Version || m.PID <= 0 || m.PID > maxPID || m.Parent < 0 || m.Parent > maxPID {
		return false
	}
	if !within(maxCount, m.Seq-1, m.Lost, m.Untold) || !within(maxTime, m.At) || m.Loader != nil && !within(maxNumber-1, int64(*m.Loader)) {
		return false
	}
	if m.Rank != nil && !within(maxCount, int64(*m.Rank)) {
		return false
	}
	for _, s := range m.Sites {
		if s.Kind != "open" && s.Kind != "sync" || !within(maxCount, int64(s.Line), s.Calls) || !within(maxTime, s.Time) {
			return false
		}
	}
	switch m.Kind {
	case kindHello, kindOff:
		return true
	case kindLoader:
		return m.Loader != nil && m.Made != nil && m.Made.sound()
	case kindEpoch:
		return m.Loader != nil && m.Epoch != nil && m.Epoch.sound()
	case kindSteps:
		s := m.Steps
		return m.Loader != nil && (s == nil && len(m.Sites) > 0 || s != nil && within(maxTime, s.Clock) && within(maxCount, s.BatchBytes) && within(maxTime, s.Waits...))
	case kindWork:
		w := m.Work
		return w == nil && len(m.Sites) > 0 || w != nil && within(maxTime, w.Times...) && slowSound(w.Slow)
	}
	return false
}

// within says whether every number lies between 0 and most.
func within(most int64, numbers ...int64) bool {
	for _, n := range numbers {
		if n < 0 || n > most {
			return false
		}
	}
	return true
}

func (e *epochTold) sound() bool {
	for _, pid := range e.Workers {
		if pid <= 0 || pid > maxPID {
			return false
		}
	}
	for _, t := range []*int64{e.FirstWait, e.Drain} {
		if t != nil && !within(maxTime, *t) {
			return false
		}
	}
	return within(maxCount, int64(e.Number), e.Steps, int64(e.Born)) && within(maxTime, e.Begun, e.Create, e.Wait, e.Wall)
}

func (m *loaderMade) sound() bool {
	for _, n := range []*int{m.NumWorkers, m.Prefetch, m.BatchSize} {
		if n != nil && !within(maxCount, int64(*n)) {
			return false
		}
	}
	return (m.Items == nil || within(maxCount, *m.Items)) && within(maxCount, int64(m.Line)) && (m.Timeout == nil || *m.Timeout >= 0 && *m.Timeout < maxCount)
}

// slowSound says whether slow items have times a hook can have measured. An index may be negative: a sampler may give such.
func slowSound(slow [][3]int64) bool {
	for _, s := range slow {
		if s[0] > maxCount || s[0] < -maxCount || !within(maxTime, s[1]) || !within(maxCount, s[2]) {
			return false
		}
	}
	return true
}
