package job

import (
	"cmp"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/pipetune/pipetune/internal/procfs"
)

// maxNodes bounds how many living processes of a job are followed; a node of 8 GPUs with 64 workers each has some 600.
const maxNodes = 4096

// table holds the living processes below the job's roots.
type table struct {
	fs    procfs.FS
	self  int
	nodes map[int]*node
	buf   procfs.Buffer
	guard *Guard
	inner func() []string // Options.BatchTakers
	// hadTrainer says that some process has looked like a trainer: when it is gone, nothing else is taken for one.
	hadTrainer bool
	skipped    int // processes not followed because of maxNodes
	// noChildren says that the kernel has no children files, so that births are found by full looks at /proc.
	noChildren bool
}

func newTable(o Options) *table {
	return &table{fs: o.FS, self: o.Self, nodes: map[int]*node{}, guard: &Guard{}, inner: o.BatchTakers}
}

// add takes hold of a process that was seen below the roots, as a child of parent. It returns nil where there is none,
// where it is pipetune, and where the number has been given to somebody else's child since. parent 0: of whoever.
func (t *table) add(pid, parent int, now time.Duration) *node {
	if pid == t.self || pid <= 0 {
		return nil
	}
	if len(t.nodes) >= maxNodes {
		t.skipped++
		return nil
	}
	p, err := t.fs.OpenWith(pid, &t.buf)
	if err != nil {
		return nil
	}
	var st procfs.Stat
	if err := p.Stat(&st); err != nil || st.State == 'Z' || st.State == 'X' || parent != 0 && st.PPID != parent {
		p.Close()
		return nil
	}
	n := &node{id: p.ID, ppid: st.PPID, proc: p, seen: now, part: part{rank: -1}, recordedBirths: -1,
		inside: inside{rank: -1}, facts: facts{uid: -1, innerPID: pid}}
	t.nodes[pid] = n
	t.describe(n)
	return n
}

// describe reads the facts of a new process. The command line is read apart, because that read may hang.
func (t *table) describe(n *node) {
	st, err := n.proc.Status()
	if err != nil {
		return
	}
	f := facts{comm: string(st.Name), uid: st.UID.Or(-1), innerPID: n.id.PID, affinity: len(st.CPUs.Or(nil)),
		caught: st.CaughtSignals.Or(0)}
	if len(st.NSPIDs) > 0 {
		f.innerPID = st.NSPIDs[len(st.NSPIDs)-1]
	}
	f.exe, _ = n.proc.Exe() // what cannot be read is "" or nil
	f.argv, _ = Guarded(t.guard, t.fs, n.id, (*procfs.Process).Cmdline)
	f.kind, f.python = classifyCommand(f.argv), isPython(f.exe, f.argv)
	n.facts, n.described = f, true
}

func (t *table) inspect(n *node) {
	n.inside.tries++
	fs := t.fs
	in, ok := Guarded(t.guard, fs, n.id, func(p *procfs.Process) (inside, error) { return readInside(fs, p), nil })
	if ok {
		in.tries = n.inside.tries
		n.inside = in
	}
}

// recheck reads again what changes after a process was born: its signal handlers and its name, which make it a worker.
func (t *table) recheck(n *node) bool {
	st, err := n.proc.Status()
	if err != nil {
		return false
	}
	caught, comm := st.CaughtSignals.Or(0), string(st.Name)
	changed := caught != n.facts.caught || comm != n.facts.comm
	n.facts.caught, n.facts.comm = caught, comm
	if parent := t.nodes[n.ppid]; !n.facts.polls && parent != nil &&
		caught&parent.facts.caught&workerSignals == workerSignals {
		n.facts.polls = n.pollsForWork()
		changed = changed || n.facts.polls
	}
	return changed
}

// markBatchTakers marks the processes that are told to take batches. It reports whether there are new ones.
func (t *table) markBatchTakers() bool {
	if t.inner == nil {
		return false
	}
	changed := false
	takers := t.inner()
	for _, n := range t.nodes {
		if !n.takesBatches && slices.Contains(takers, Entity(n.id)) {
			n.takesBatches, changed = true, true
		}
	}
	return changed
}

func (t *table) drop(n *node) {
	n.proc.Close()
	delete(t.nodes, n.id.PID)
}

func (t *table) close() {
	for _, n := range t.nodes {
		n.proc.Close()
	}
}

// alive says whether the process still runs; a zombie does not.
func (t *table) alive(n *node) bool {
	var st procfs.Stat
	if err := n.proc.Stat(&st); err != nil {
		// Only a process that is gone is gone: a read that failed otherwise says nothing.
		return !errors.Is(err, procfs.ErrGone) && !errors.Is(err, procfs.ErrNoData)
	}
	if st.State == 'Z' || st.State == 'X' {
		return false
	}
	n.ppid = st.PPID
	return true
}

func (t *table) children(n *node) []int {
	childPIDs, err := n.proc.Children(nil)
	if err != nil && !errors.Is(err, procfs.ErrGone) { // not there, or not for us
		t.noChildren = true
	}
	return childPIDs
}

// grow adds what is below the given roots and not yet known, and reports whether there was any. Loader workers rarely
// have children of their own, so below them it looks only with deep set. A root that has ended is passed over, also
// where its number lives on with somebody else.
func (t *table) grow(roots []procfs.ID, now time.Duration, deep bool) (added bool) {
	before, seen := len(t.nodes), map[int]bool{}
	var tops []*node
	for _, r := range roots {
		n := t.nodes[r.PID]
		if n == nil {
			if n = t.add(r.PID, 0, now); n != nil && n.id != r {
				t.drop(n)
				n = nil
			}
		}
		if n != nil {
			seen[r.PID] = true
			tops = append(tops, n)
		}
	}
	queue := slices.Clone(tops)
	for i := 0; i < len(queue) && !t.noChildren; i++ {
		if queue[i].role == Worker && !deep {
			continue
		}
		for _, pid := range t.children(queue[i]) {
			if n := t.child(pid, queue[i], now); n != nil && !seen[pid] {
				seen[pid] = true
				queue = append(queue, n)
			}
		}
	}
	if t.noChildren {
		t.growFromTable(tops, now)
	}
	return len(t.nodes) > before
}

// child returns the process of a number that was read as one of parent's children; nil where it is that no more.
func (t *table) child(pid int, parent *node, now time.Duration) *node {
	if n := t.nodes[pid]; n != nil {
		return n
	}
	return t.add(pid, parent.id.PID, now)
}

// growFromTable is grow for a kernel without children files, at the price of a look at every process of the machine.
func (t *table) growFromTable(tops []*node, now time.Duration) {
	all, err := t.fs.Table()
	if err != nil {
		return
	}
	for _, top := range tops {
		for _, e := range all.Descendants(top.id.PID) {
			if t.nodes[e.PID] == nil {
				t.add(e.PID, e.PPID, now)
			}
		}
	}
}

// above are the known ancestors of n, the nearest first.
func (t *table) above(n *node) iter.Seq[*node] {
	return func(yield func(*node) bool) {
		// A number that was given away may close a circle for a moment.
		for p, steps := t.nodes[n.ppid], 0; p != nil && steps < maxNodes && yield(p); steps++ {
			p = t.nodes[p.ppid]
		}
	}
}

func byAge(a, b *node) int { return cmp.Or(cmp.Compare(a.id.Start, b.id.Start), a.id.PID-b.id.PID) }

// downwards returns the nodes so that each comes after its parent, and siblings by age.
func (t *table) downwards() []*node {
	childPIDs := map[int][]*node{}
	var order []*node // first those at the top
	for _, n := range t.nodes {
		if parent := t.nodes[n.ppid]; parent != nil && parent != n {
			childPIDs[n.ppid] = append(childPIDs[n.ppid], n)
		} else {
			order = append(order, n)
		}
	}
	slices.SortFunc(order, byAge)
	for i := 0; i < len(order); i++ {
		below := childPIDs[order[i].id.PID]
		slices.SortFunc(below, byAge)
		order = append(order, below...)
	}
	return order
}
