package cli

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// bar draws how far a thing is on one line of a terminal, over and over.
type bar struct {
	w     io.Writer
	width int           // of the bar itself, in columns
	pace  time.Duration // between two drawings
	drawn time.Time
	shown int // columns of the last drawing
}

// draw draws the share that is done, behind the words; nothing where it was drawn just before.
func (b *bar) draw(words string, share float64) {
	now := time.Now()
	if now.Sub(b.drawn) < b.pace {
		return
	}
	b.drawn = now
	share = min(max(share, 0), 1)
	done := strings.Repeat("=", int(share*float64(b.width)))
	if len(done) < b.width {
		done += ">"
	}
	line := fmt.Sprintf("%s%4.0f%% [%-*s]", words, 100*share, b.width, done)
	// What is written goes to stderr: when that is gone there is nobody left to tell.
	_, _ = fmt.Fprintf(b.w, "\r%-*s", b.shown, line)
	b.shown = max(b.shown, len([]rune(line)))
}

// clear takes the bar away.
func (b *bar) clear() {
	if b.shown > 0 {
		_, _ = fmt.Fprintf(b.w, "\r%*s\r", b.shown, "")
		b.shown = 0
	}
}
