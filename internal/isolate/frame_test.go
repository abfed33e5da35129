package isolate

import (
	"bufio"
	"bytes"
	"testing"
)

func FuzzReadLine(f *testing.F) {
	f.Add([]byte("one\ntwo\n"), 10)
	f.Add([]byte("no end"), 3)
	f.Add(bytes.Repeat([]byte("x"), 10_000), 5000)
	f.Fuzz(func(t *testing.T, raw []byte, limit int) {
		limit = min(max(limit, 1), 1<<20)
		in := bufio.NewReader(bytes.NewReader(raw))
		for rest := raw; ; {
			line, err := readLine(in, limit)
			if len(line) > limit {
				t.Fatalf("%d bytes, %d allowed", len(line), limit)
			}
			if err != nil {
				return
			}
			want, after, found := bytes.Cut(rest, []byte("\n"))
			if !found || !bytes.Equal(line, want) {
				t.Fatalf("got %q, want %q", line, want)
			}
			rest = after
		}
	})
}
