//go:build reliability

package reliability

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
)

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
