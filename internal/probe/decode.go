package probe

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/pipetune/pipetune/internal/benchmark"
	"github.com/pipetune/pipetune/internal/dataset"
)

// holdsPictures reports whether items of the dataset may be pictures.
func holdsPictures(sample *dataset.Sample) bool { return sample.Kind.Items().Pictures }

// decodeRound is how long a round of decoding lasts, reading included: dozens of pictures of 2 ms.
const decodeRound = 100 * time.Millisecond

type pictureKind struct{ format, library string }

// decodeItems measures decoding pictures that are in memory, by pipetune's own decoders, each format apart.
func decodeItems(ctx context.Context, s *session) error {
	d := decoding{session: s, first: map[pictureKind]bool{}, rounds: map[pictureKind][]round{},
		items: s.sound(&s.sample, inOrder(&s.sample, random, s.options.Seed))}
	d.process = s.process(&s.sample, decodeRound)
	defer d.process.close()
	_, _, err := s.repeat(ctx, s.time, func() (round, error) { return d.round(ctx) })
	for _, kind := range slices.SortedFunc(maps.Keys(d.rounds), d.byItems) {
		s.result.Rows.Decodes = append(s.result.Rows.Decodes,
			benchmark.Decode{Library: kind.library, Format: kind.format, Time: perUnit(d.counted(kind))})
	}
	switch {
	case err == nil, ctx.Err() != nil:
		return ctx.Err()
	case len(d.rounds) > 0:
		s.warn(fmt.Sprintf("decoding ended early: %v", err))
		return nil
	}
	return err
}

type decoding struct {
	*session
	process *process
	items   []int // in the order they are decoded
	next    int
	warm    bool
	first   map[pictureKind]bool // met in the first round, a warm-up
	rounds  map[pictureKind][]round
}

// counted is the rounds of a format: without the warm-up, unless the format came in no other.
func (d *decoding) counted(kind pictureKind) []round {
	if r := d.rounds[kind]; d.first[kind] && len(r) > 1 {
		return r[1:]
	}
	return d.rounds[kind]
}

// byItems puts the format first of which most pictures were decoded.
func (d *decoding) byItems(a, b pictureKind) int {
	items := func(kind pictureKind) (sum float64) {
		for _, r := range d.rounds[kind] {
			sum += r.Units
		}
		return sum
	}
	return cmp.Or(cmp.Compare(items(b), items(a)), cmp.Compare(a.format, b.format))
}

// round decodes on from where the last one stopped.
func (d *decoding) round(ctx context.Context) (round, error) {
	for {
		out, err := attended(ctx, d.process, decodeWork, func() (decode, error) {
			if d.items = d.sound(&d.sample, d.items); len(d.items) == 0 {
				return decode{}, errNoneReadable
			}
			return decode{Items: d.items, From: d.next % len(d.items), Seconds: decodeRound.Seconds()}, nil
		}, func(q decode, death error) error {
			return d.survive(ctx, &d.sample, load{Items: q.Items, From: q.From, Seconds: q.Seconds, Handle: handleKept,
				Decode: true}, death)
		})
		if err != nil {
			return round{}, fmt.Errorf("decoding: %w", err)
		}
		d.next = out.Next
		d.leaveOut(out)
		if r := d.keep(out.Kinds); r.Units > 0 {
			return r, nil
		}
	}
}

// leaveOut forgets the items that cannot be decoded or are no pictures, and goes on where the round stopped.
func (d *decoding) leaveOut(out decoded) {
	if len(out.Failures)+len(out.Other) == 0 {
		return
	}
	d.note(&d.sample, out.Failures)
	stopped := append(slices.Clone(d.items[d.next:]), d.items[:d.next]...)
	d.items = d.sound(&d.sample, slices.DeleteFunc(stopped, func(i int) bool { return slices.Contains(out.Other, i) }))
	d.next = 0
}

// keep takes each format's time as a round of its own, and returns all together, which decides how long to go on.
func (d *decoding) keep(kinds []kindOfPicture) round {
	var all round
	for _, k := range kinds {
		all.Units += float64(k.Items)
		all.Seconds += k.Seconds
		kind := pictureKind{k.Format, k.Library}
		d.first[kind] = d.first[kind] || !d.warm
		d.rounds[kind] = append(d.rounds[kind], round{Units: float64(k.Items), Seconds: k.Seconds})
	}
	d.warm = d.warm || all.Units > 0
	return all
}
