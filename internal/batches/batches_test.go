package batches

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestParseTensorName(t *testing.T) {
	for in, want := range map[string]tensorName{
		"/dev/shm/torch_21560_627094625_90 (deleted)":    {21560, 90},
		"torch_21610_1565276332_54":                      {21610, 54},
		"/dev/shm/torch_7_1_0":                           {7, 0},
		"/srv/chroot/sid/dev/shm/torch_7_1_12 (deleted)": {7, 12},
	} {
		if got, ok := parseTensorName([]byte(in)); !ok || got != want {
			t.Errorf("%q: got %v, %v", in, got, ok)
		}
	}
	for _, in := range []string{"", "torch_", "/dev/shm/torch_12_34", "/dev/shm/torch_12_34_",
		"/dev/shm/torch_12_34_5x", "/tmp/torch_1_2_3",
		"/dev/shm/torch_-1_2_3", "/dev/shm/torch_0_2_3", "torch_1_2_3_4", "torch_1_2_99999999999999999999",
		"socket:[1]"} {
		if got, ok := parseTensorName([]byte(in)); ok {
			t.Errorf("%q is taken for tensor %v", in, got)
		}
	}
}

// TestDescriptorOfANamedFile is none that a tensor is shared by: its maker has one for an instant.
func TestDescriptorOfANamedFile(t *testing.T) {
	if got, ok := parseDescriptor([]byte("/dev/shm/torch_7_1_12")); ok {
		t.Errorf("a named file passes for %v", got)
	}
	if got, ok := parseDescriptor([]byte("/dev/shm/torch_7_1_12 (deleted)")); !ok || got != (tensorName{7, 12}) {
		t.Errorf("got %v, %v", got, ok)
	}
}

func FuzzParseTensorName(f *testing.F) {
	f.Add([]byte("/dev/shm/torch_21560_627094625_90 (deleted)"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if n, ok := parseTensorName(b); ok && (n.pid <= 0 || n.number < 0) {
			t.Errorf("%q: %v", b, n)
		}
	})
}

// shownGrids plays what listings of workers show: numbers at random batches, off the grid at the given share.
func shownGrids(r *rand.Rand, tensors, workers, sightings int, off float64) *periodEvidence {
	e := &periodEvidence{}
	for range workers {
		base := int64(r.IntN(40)) * int64(tensors)
		n := base
		var grid []int64
		for range sightings {
			n += int64(1+r.IntN(4)) * int64(tensors)
			shown := n
			if r.Float64() < off {
				shown += int64(r.IntN(tensors))
			}
			grid = append(grid, shown)
		}
		e.grids, e.anchors = append(e.grids, grid), append(e.anchors, -1)
	}
	return e
}

// TestPeriodFromNumbersAlone finds the tensors per batch where all are of one size, or each of its own, and the dataset
// writes files: then only the numbers tell.
func TestPeriodFromNumbersAlone(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, tensors := range []int{1, 2, 3, 4, 5, 8, 21} {
		for _, off := range []float64{0, 0.3} {
			right := 0
			for range 50 {
				var p tensorPeriod
				p.decide(shownGrids(r, tensors, 2, 25, off))
				switch p.tensors {
				case tensors:
					right++
				case 0: // not sure yet: more sightings will tell
				default:
					t.Errorf("%d tensors, %.0f %% off the grid: decided %d", tensors, off*100, p.tensors)
				}
			}
			if right < 40 {
				t.Errorf("%d tensors, %.0f %% off the grid: decided in %d of 50 only", tensors, off*100, right)
			}
		}
	}
}

// TestPeriodFromWrites finds it where few tensors were seen but the writes were counted, and is not misled where they
// fit nothing.
func TestPeriodFromWrites(t *testing.T) {
	for tensors := 1; tensors <= 5; tensors++ {
		const batches = 400
		e := &periodEvidence{perTensor: writesPerSharedDescriptor, tensors: float64(batches * tensors),
			writes: float64(batches * (4*tensors + 1)), batchesLost: 0.57}
		var p tensorPeriod
		p.decide(e)
		if p.tensors != tensors && (tensors < 4 || p.tensors != 0) {
			t.Errorf("%d tensors: got %d", tensors, p.tensors)
		}
	}
	e := shownGrids(rand.New(rand.NewPCG(3, 4)), 2, 2, 25, 0)
	e.perTensor, e.tensors, e.writes, e.batchesLost = writesPerSharedDescriptor, 200, 5000, 0.57
	var p tensorPeriod
	if p.decide(e); p.tensors != 2 {
		t.Errorf("a dataset that writes misled the decision: %d", p.tensors)
	}
}

// TestPeriodOfLists: a list of tensors for each sample makes more of a batch than are looked for at first; a divisor of
// their number fits the same sightings, and a prime number has none.
func TestPeriodOfLists(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, tensors := range []int{113, 225, 226, 640} {
		for _, off := range []float64{0, 0.3} {
			e := shownGrids(r, tensors, 2, 40, off)
			e.perTensor, e.batchesLost = writesPerSharedDescriptor, 0.57
			e.tensors, e.writes = float64(60*tensors), float64(60*(4*tensors+1))
			var p tensorPeriod
			for range 2 {
				if p.decide(e); p.tensors != tensors {
					t.Errorf("%d tensors, %.0f %% off the grid: got %d", tensors, 100*off, p.tensors)
				}
			}
		}
	}
}

func BenchmarkPeriodOfLists(b *testing.B) {
	e := shownGrids(rand.New(rand.NewPCG(5, 6)), 113, 16, 32, 0)
	e.perTensor, e.batchesLost, e.tensors, e.writes = writesPerSharedDescriptor, 0.57, 113*60, 60*(4*113+1)
	for b.Loop() {
		var p tensorPeriod
		p.decide(e)
	}
}

// TestPeriodWaitsForEvidence keeps silent on too little.
func TestPeriodWaitsForEvidence(t *testing.T) {
	var p tensorPeriod
	for _, e := range []*periodEvidence{{}, {grids: [][]int64{{4}}, anchors: []int64{-1}},
		{grids: [][]int64{{4, 8}, {2, 6}}, anchors: []int64{-1, -1}}} {
		if p.decide(e); p.tensors != 0 {
			t.Errorf("decided %d on %v", p.tensors, e.grids)
		}
	}
}

// list is a listing that finds some tensors held.
func (l *tensorLedger) list(held ...int64) {
	l.startListing()
	for _, n := range held {
		l.hold(n)
	}
	l.endListing()
}

// filled makes a ledger that has seen the given sizes, from number first on.
func filled(first int64, sizes ...int64) *tensorLedger {
	l := &tensorLedger{}
	for i, s := range sizes {
		l.setSize(first+int64(i), s)
	}
	l.held = []int64{first}
	return l
}

func TestRepeatingSizes(t *testing.T) {
	variable := make([]int64, 60)
	for i := range variable {
		variable[i] = int64(1000 + i*37)
	}
	for _, c := range []struct {
		name string
		in   []int64
		want int
	}{
		{"two", slices.Repeat([]int64{262144, 64}, 20), 2}, {"three", slices.Repeat([]int64{100, 64, 64}, 13), 3},
		{"alike", slices.Repeat([]int64{64}, 40), 0}, {"variable", variable, 0},
		{"too few", slices.Repeat([]int64{262144, 64}, 3), 0},
	} {
		if got := repeatingSizes([]*tensorLedger{filled(18, c.in...)}); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}

func TestBatchBytes(t *testing.T) {
	whole := filled(18, 100, 4, 140, 4, 120, 4)
	if got, ok := batchBytes([]*tensorLedger{whole}, 2); !ok || got != 124 {
		t.Errorf("whole batches: got %d, %v", got, ok)
	}
	// A starved loader is seen with one tensor at a time.
	parts := &tensorLedger{held: []int64{18}}
	for i := range int64(8) {
		parts.setSize(18+i*4, 100)
		parts.setSize(18+i*4+3, 4)
	}
	if got, ok := batchBytes([]*tensorLedger{parts}, 2); !ok || got != 104 {
		t.Errorf("parts of batches: got %d, %v", got, ok)
	}
	if got, ok := batchBytes([]*tensorLedger{filled(18, 100)}, 2); ok {
		t.Errorf("a batch never seen whole has %d bytes", got)
	}
}

// TestLedgerCountsFromFirstSight: a worker that was there counts from what is seen first, one born under our eyes from
// its first tensor.
func TestLedgerCountsFromFirstSight(t *testing.T) {
	list := func(l *tensorLedger, writes, smallest, largest int64) {
		l.readIO(writes, 0, 0)
		l.list(smallest, largest)
	}
	old := &tensorLedger{}
	list(old, 1000, 90, 93)
	if got := old.credit(0); got != 0 {
		t.Errorf("at first sight %v tensors were credited", got)
	}
	list(old, 1045, 100, 103)
	if got := old.credit(0); got != 10 {
		t.Errorf("credited %v, want 10", got)
	}
	// Between sightings the writes tell: 4.5 for each tensor.
	old.readIO(1090, 0, 0)
	if got := old.credit(4.5); got != 6 { // the four on their way have not been paid for
		t.Errorf("credited %v from writes, want 6", got)
	}
	list(old, 1090, 108, 111)
	if got := old.credit(4.5); got != 2 {
		t.Errorf("credited %v, want 2", got)
	}
	// A sighting below the estimate takes nothing back, and what follows is not counted twice.
	old.readIO(1180, 0, 0)
	if got := old.credit(4.5); got != 16 {
		t.Errorf("credited %v, want 16", got)
	}
	list(old, 1180, 110, 113)
	if got := old.credit(4.5); got != 0 {
		t.Errorf("credited %v again", got)
	}
	list(old, 1200, 118, 121)
	if got := old.credit(4.5); got != 0 {
		t.Errorf("credited %v again, 34 being credited", got)
	}
	// At the end of its life whole batches were handed over.
	old.readIO(1205, 0, 0)
	if got := old.finish(4.5, 3); got != 2 {
		t.Errorf("credited %v at the end, want 2 to make it 36", got)
	}

	born := &tensorLedger{born: true}
	list(born, 30, 6, 9)
	if got := born.credit(0); got != 10 {
		t.Errorf("a newborn is credited %v, want 10", got)
	}
	heir := &tensorLedger{born: true}
	heir.inherit(19)
	heir.list(26, 29)
	if got := heir.credit(0); got != 10 {
		t.Errorf("a fork that goes on from its parent's number is credited %v, want 10", got)
	}
	unseen := &tensorLedger{born: true}
	unseen.readIO(45, 0, 0)
	if got := unseen.credit(4.5); got != 10 {
		t.Errorf("a worker too short-lived to be listed is credited %v, want 10", got)
	}
}

// TestPickledBatches counts batches without tensors by the workers' writes.
func TestPickledBatches(t *testing.T) {
	for _, c := range []struct {
		name           string
		writes, chars  int64
		reads          int64
		socket         bool
		perBatch, size int64
	}{
		{"arrays of 256 KiB", 144, 72 * 262144, 144, false, 2, 262144},
		{"small arrays", 119, 506523, 238, false, 1, 4256},
		{"20 kB", 100, 50 * 20000, 100, false, 2, 20000},
		{"12 kB", 100, 100 * 12000, 200, false, 1, 12000},
		{"12 or 24 kB, dataset reads files", 100, 100 * 12000, 5000, false, 0, 0},
		{"descriptors of tensors never sighted", 450, 450 * 60, 900, true, 0, 0},
		{"too few", 10, 10 * 262144, 10, false, 0, 0},
	} {
		l := &tensorLedger{born: true, listings: 30, socket: c.socket}
		l.readIO(c.writes, c.chars, c.reads)
		var f pickledFlow
		f.estimate([]*tensorLedger{l})
		f.credit(l)
		if f.writesPerBatch != c.perBatch || f.bytes != c.size {
			t.Errorf("%s: %d writes and %d bytes per batch, want %d and %d", c.name, f.writesPerBatch, f.bytes,
				c.perBatch, c.size)
		}
		if c.perBatch > 0 && f.batches != float64(c.writes/c.perBatch) {
			t.Errorf("%s: %v batches", c.name, f.batches)
		}
	}
}

// TestLateFirstSightingLosesNothing: what a worker's writes reported before its first tensor was sighted stays counted,
// whether the worker or the trainer is seen to hold it.
func TestLateFirstSightingLosesNothing(t *testing.T) {
	for name, sight := range map[string]func(l *tensorLedger, number int64){
		"with the trainer": func(l *tensorLedger, n int64) { l.received(n, n, true) },
		"with the worker":  func(l *tensorLedger, n int64) { l.list(n) },
	} {
		l := &tensorLedger{}
		const perTensor = 5
		l.readIO(1000, 0, 0)
		l.readIO(1000+20*perTensor, 0, 0)
		total := l.credit(perTensor) // 20 tensors, by their writes alone
		sight(l, 119)
		total += l.credit(perTensor)
		l.readIO(1000+30*perTensor, 0, 0)
		sight(l, 129)
		total += l.credit(perTensor)
		if total < 29 || total > 31 {
			t.Errorf("%s: %v tensors counted, 30 were handed over", name, total)
		}
	}
}

// TestWritesOfProgramsTellNothing: the kernel adds what programs wrote to the account of the worker that ran them, in
// bursts that may look like batches of so many tensors.
func TestWritesOfProgramsTellNothing(t *testing.T) {
	play := func(growth float64) (*tensorLedger, Loader) {
		l, f := &tensorLedger{}, Loader{}
		writes := int64(1000)
		for i := range 60 {
			if i%6 == 5 {
				writes += 13 // gzip of some 3 MB; as three tensors and their batch
			}
			l.sawPrograms(5 + growth*float64(i/6))
			l.readIO(writes, writes*262144, writes)
			l.list()
			f.calibrate([]*tensorLedger{l})
			f.pickled.estimate([]*tensorLedger{l})
		}
		return l, f
	}
	if _, f := play(0); f.period.tensors != 3 {
		t.Errorf("without programs, bursts of 13 writes are batches of %d tensors, want 3", f.period.tensors)
	}
	l, f := play(0.1)
	if !l.mixed || f.period.tensors != 0 || f.pickled.writesPerBatch != 0 || l.handedOver(4) != 0 {
		t.Errorf("with programs: mixed %v, %d tensors per batch, %d writes per pickled batch, %v tensors handed over",
			l.mixed, f.period.tensors, f.pickled.writesPerBatch, l.handedOver(4))
	}
	imports := &tensorLedger{}
	for _, seconds := range []float64{0, 0.1, 0.2, 0.2, 0.2} {
		imports.sawPrograms(seconds)
	}
	if imports.mixed {
		t.Error("two programs of an import spoil the account")
	}
}
