package render

import "testing"

func TestProse(t *testing.T) {
	const given = `## What it means
One sentence that goes on for longer than a terminal without a width is wide, and a second
line.

    DataLoader(dataset, batch_size=64, num_workers=8, persistent_workers=True, pin_memory=True, prefetch_factor=4)

- a point that goes on for longer than a terminal without a width is wide, and one more word
`
	const want = `## What it means
One sentence that goes on for longer than a terminal without a width is wide,
and a second line.

    DataLoader(dataset, batch_size=64, num_workers=8, persistent_workers=True, pin_memory=True, prefetch_factor=4)

- a point that goes on for longer than a terminal without a width is wide, and
  one more word
`
	if got := Prose(given); got != want {
		t.Errorf("%s", got)
	}
	if got := Wrapped("ok       name  ", ""); got != "ok       name\n" {
		t.Errorf("%q", got)
	}
}
