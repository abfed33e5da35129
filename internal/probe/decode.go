package probe

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/pipetune/pipetune/internal/benchmark"
	"github.com/pipetune/pipetune/internal/dataset"
)

// holdsPictures tells whether items of the dataset may be pictures.
func holdsPictures(sample *dataset.Sample) bool {
	return sample.Kind.Items().Pictures
}

func wantsDecode(s *session) bool { return holdsPictures(&s.sample) }

// decodeRound is how long one round of decoding lasts, reading included: dozens of pictures of half a megapixel, 2 ms each.
const decodeRound = 100 * time.Millisecond

// pictureKind is one format with the library that decodes it.
type pictureKind struct{ format, library string }

// decodeItems measures decoding pictures that are in memory, by pipetune's own decoders, each format apart.
func decodeItems(ctx context.Context, s *session) error {
	d := decoding{session: s, rounds: map[pictureKind][]round{}, items: s.sound(&s.sample, inOrder(&s.sample, random, s.options.Seed))}
	d.process = s.process(nil, decodeRound)
	defer d.process.close()
	_, _, err := s.repeat(ctx, s.left(), func() (round, error) { return d.round(ctx) })
	for _, kind := range slices.SortedFunc(maps.Keys(d.rounds), func(a, b pictureKind) int { return len(d.rounds[b]) - len(d.rounds[a]) }) {
		s.result.Rows.Decodes = append(s.result.Rows.Decodes,
			benchmark.Decode{Library: kind.library, Format: kind.format, Time: perUnit(d.rounds[kind])})
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

// decoding is the probe under way.
type decoding struct {
	*session
	process *process
	items   []int // in the order they are decoded
	next    int
	warm    bool
	rounds  map[pictureKind][]round
}

// round decodes on from where the last one stopped. The first counts for nothing.
func (d *decoding) round(ctx context.Context) (round, error) {
	for {
		out, err := attended(ctx, d.process, decodeWork, func() (decode, error) {
			if d.items = d.sound(&d.sample, d.items); len(d.items) == 0 {
				return decode{}, errNoneReadable
			}
			return decode{Items: d.items, From: d.next % len(d.items), Seconds: decodeRound.Seconds()}, nil
		}, func(q decode, death error) error {
			return d.survive(ctx, &d.sample, load{Items: q.Items, From: q.From, Seconds: q.Seconds, Handle: handleKept, Decode: true}, death)
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

// keep takes what each format took as a round of its own. It returns all of them together, by which the probe decides to go on.
func (d *decoding) keep(kinds []kindOfPicture) round {
	var all round
	for _, k := range kinds {
		all.Units += float64(k.Items)
		all.Seconds += k.Seconds
		if d.warm {
			kind := pictureKind{k.Format, k.Library}
			d.rounds[kind] = append(d.rounds[kind], round{Units: float64(k.Items), Seconds: k.Seconds})
		}
	}
	d.warm = d.warm || all.Units > 0
	return all
}
