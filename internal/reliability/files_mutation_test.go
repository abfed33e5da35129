//go:build reliability

package reliability

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/must"
)

var mutationTrials = []trial{
	{id: "D3", fault: "damaged HDF5 files", made: "2,000 mutants of 24 own seeds by 8 mutators, looked through and " +
		"one item read by pipetune's children",
		target: "the parent goes on; an answer, or the child's end, within 10 s; a child holds at most 1 GiB",
		run:    func(s *stand) { damaged(s, 2000, 5*time.Minute, 1) }},
	{id: "D3-hour", fault: "damaged HDF5 files, many", made: "as D3, as many as the time allows on 2 lanes", long: true,
		target: "as D3; 2.4 million an hour on 2 idle cores", run: func(s *stand) { damaged(s, 0, s.minutes(60), 2) }},
}

// mostHeld is what a child may hold of memory.
const mostHeld = 1 << 30

// looks is after how many mutants the children's memory is looked at.
const looks = 16

// tally is what came of many mutants.
type tally struct {
	mu     sync.Mutex
	seen   map[uint64]struct{} // hashes of those that were different
	tried  int
	counts [outcomes]int
	most   int64 // bytes that a child held
	heavy  []string
	odd    []string
}

// damaged has mutants read until there were most, with 0 without a bound, or the time is up, or the test is asked to
// end.
func damaged(s *stand, most int, limit time.Duration, lanes int) {
	all := seeds(s)
	day := uint64(s.number("RELIABILITY_SEED", float64(time.Now().Unix()/(24*60*60))))
	first := uint64(s.number("RELIABILITY_FIRST", 0))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	folder := must.Get(os.MkdirTemp("/dev/shm", "pipetune-mutants-"))(s)
	defer os.RemoveAll(folder)
	t := &tally{seen: map[uint64]struct{}{}}
	hash := maphash.MakeSeed()
	began := time.Now()
	var wg sync.WaitGroup
	for lane := range lanes {
		wg.Go(func() {
			err := t.lane(ctx, s, all, hash, day, uint64(lane), first, most/lanes, folder)
			if err != nil {
				s.Errorf("lane %d: %v", lane, err)
			}
		})
	}
	wg.Wait()
	t.verdict(s, day, lanes, time.Since(began))
}

// lane reads one mutant after the other, from the first on.
func (t *tally) lane(ctx context.Context, s *stand, all []seed, hash maphash.Seed, day, lane, first uint64, most int,
	folder string) error {
	// A runner of its own, so that its children are the lane's.
	r := &reader{runner: s.newRunner(), limit: mutantLimit}
	defer r.close()
	highest, told := int64(0), time.Now()
	for n := first; (most == 0 || n < first+uint64(most)) && ctx.Err() == nil; n++ {
		name, file := mutant(all, day, lane, n)
		// A name of its own for each: libhdf5 takes a file of the same inode that it could not close for the one it has
		// open.
		path := filepath.Join(folder, fmt.Sprintf("%d-%d.h5", lane, n))
		if err := os.WriteFile(path, file, 0o600); err != nil {
			return err
		}
		what := r.read(ctx, path)
		for errors.Is(r.why, isolate.ErrStuck) && ctx.Err() == nil { // those that were ended are not reaped yet
			time.Sleep(100 * time.Millisecond)
			what = r.read(ctx, path)
		}
		if err := os.Remove(path); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return nil // cut short: it counts for nothing
		}
		if n%looks == looks-1 || what == late {
			if held := held(r.runner); held > highest+highest/4 {
				s.Logf("lane %d, up to mutant %d (%s): a child has held %d MiB", lane, n, name, held>>20)
				if highest = held; held > mostHeld {
					t.note(&t.heavy, fmt.Sprintf("%d MiB at mutants %d to %d of lane %d", held>>20, n-n%looks, n, lane))
				}
			}
		}
		if what == odd || what == late {
			s.Logf("lane %d, mutant %d (%s): %s: %v", lane, n, name, outcomeWords[what], r.why)
		}
		if what == odd {
			t.note(&t.odd, fmt.Sprintf("mutant %d of lane %d: %v", n, lane, r.why))
		}
		t.count(maphash.Bytes(hash, file), what, highest)
		if lane == 0 && time.Since(told) > time.Minute {
			told = time.Now()
			s.Logf("so far %s", t.words())
		}
	}
	return nil
}

// held is the most that one of a runner's living children has held.
func held(r *isolate.Runner) (most int64) {
	for _, pid := range r.Children() {
		most = max(most, peak(pid))
	}
	return most
}

func (t *tally) note(to *[]string, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	*to = append(*to, text)
}

func (t *tally) count(hash uint64, what outcome, held int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tried++
	t.seen[hash] = struct{}{}
	t.counts[what]++
	t.most = max(t.most, held)
}

// words is the account so far.
func (t *tally) words() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	parts := []string{fmt.Sprintf("%d different mutants of %d", len(t.seen), t.tried)}
	for i, n := range t.counts {
		parts = append(parts, fmt.Sprintf("%d %s", n, outcomeWords[i]))
	}
	return strings.Join(parts, ", ") + fmt.Sprintf("; the most a child held: %d MiB", t.most>>20)
}

// verdict holds the account to the target.
func (t *tally) verdict(s *stand, day uint64, lanes int, took time.Duration) {
	// The kernel keeps the largest of all children that have ended, those among them that died (getrusage(2)). A child
	// begins with what its parent held when it forked, so that only more than that is a child's own.
	var ended syscall.Rusage
	must.Do(s, syscall.Getrusage(syscall.RUSAGE_CHILDREN, &ended))
	if bytes := ended.Maxrss << 10; bytes > peak(os.Getpid()) {
		t.most = max(t.most, bytes)
	}
	s.measured("%s, in %v on %d lanes (%.0f a second), day %d", t.words(), took.Round(time.Second), lanes,
		float64(t.tried)/took.Seconds(), day)
	if n := t.counts[odd]; n > 0 {
		s.Errorf("the parent failed %d times, first %s", n, t.odd[0])
	}
	if t.most > mostHeld {
		where := "by a child that died"
		if len(t.heavy) > 0 {
			where = "first " + t.heavy[0]
		}
		s.missed("a child held %d MiB where %d were to be the most: %s", t.most>>20, mostHeld>>20, where)
	}
	if perHour := float64(t.tried) / took.Hours(); lanes > 1 && perHour < 2.4e6 {
		s.missed("%.2f million an hour", perHour/1e6)
	}
	if t.tried == 0 || t.counts[whole] == 0 || t.counts[refused] == 0 {
		s.Errorf("the files were not damaged as they should be: %s", t.words())
	}
}

// mutators are the ways in which a seed is damaged. Each returns a file of its own and leaves the seed as it is.
var mutators = []struct {
	name string
	do   func(r *rand.Rand, file []byte, all []seed) []byte
}{
	{"bits", flipBits},
	{"ones", func(r *rand.Rand, file []byte, _ []seed) []byte { return fillRun(r, file, 0xff) }},
	{"zeros", func(r *rand.Rand, file []byte, _ []seed) []byte { return fillRun(r, file, 0) }},
	{"noise", noise},
	{"number", oddNumber},
	{"cut", func(r *rand.Rand, file []byte, _ []seed) []byte { return file[:r.IntN(len(file))] }},
	{"shift", shift},
	{"graft", graft},
}

// flipBits turns up to eight bits.
func flipBits(r *rand.Rand, file []byte, _ []seed) []byte {
	out := slices.Clone(file)
	for range 1 + r.IntN(8) {
		out[r.IntN(len(out))] ^= 1 << r.IntN(8)
	}
	return out
}

// run is a stretch of at most so many bytes.
func run(r *rand.Rand, file []byte, most int) (from, to int) {
	from = r.IntN(len(file))
	return from, min(len(file), from+1+r.IntN(most))
}

func fillRun(r *rand.Rand, file []byte, with byte) []byte {
	out := slices.Clone(file)
	from, to := run(r, file, 64)
	for i := range out[from:to] {
		out[from+i] = with
	}
	return out
}

func noise(r *rand.Rand, file []byte, _ []seed) []byte {
	out := slices.Clone(file)
	from, to := run(r, file, 16)
	for i := range out[from:to] {
		out[from+i] = byte(r.Uint32())
	}
	return out
}

// oddNumber puts one that programs stumble over where a number of 1, 2, 4 or 8 bytes may be, or changes the one that is
// there by a little.
func oddNumber(r *rand.Rand, file []byte, _ []seed) []byte {
	out := slices.Clone(file)
	at := r.IntN(len(out))
	size := 1 << r.IntN(4)
	var raw [8]byte
	copy(raw[:], out[at:])
	old := binary.LittleEndian.Uint64(raw[:])
	odd := []uint64{0, 1, math.MaxInt8, math.MaxInt16, math.MaxInt32, math.MaxInt64, math.MaxUint32, math.MaxUint64,
		1 << 20, 1 << 29, 1 << 30, uint64(len(out)), uint64(len(out)) - 1, uint64(r.IntN(len(out))), old + 1, old - 1,
		old << 1, old >> 1, old + uint64(r.IntN(1<<16))}
	binary.LittleEndian.PutUint64(raw[:], odd[r.IntN(len(odd))])
	copy(out[at:], raw[:size])
	return out
}

// shift takes a stretch out, or puts one in: all that comes after lies where nobody looks for it.
func shift(r *rand.Rand, file []byte, _ []seed) []byte {
	from, to := run(r, file, 32)
	if r.IntN(2) == 0 {
		return slices.Concat(file[:from], file[to:])
	}
	return slices.Concat(file[:to], file[from:])
}

// graft copies a stretch of any seed to any place.
func graft(r *rand.Rand, file []byte, all []seed) []byte {
	out := slices.Clone(file)
	from := all[r.IntN(len(all))].data
	begin, end := run(r, from, 512)
	copy(out[r.IntN(len(out)):], from[begin:end])
	return out
}

// mutant is one damaged file, by one mutator to three. It is the same for the same day, lane and number.
func mutant(all []seed, day, lane, number uint64) (name string, file []byte) {
	r := rand.New(rand.NewPCG(day, lane<<48|number))
	from := all[r.IntN(len(all))]
	name, file = from.name, from.data
	for range 1 + r.IntN(3) {
		if how := mutators[r.IntN(len(mutators))]; len(file) > 0 {
			name, file = name+" "+how.name, how.do(r, file, all)
		}
	}
	return name, file
}
