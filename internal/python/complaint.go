package python

import (
	"cmp"
	"strings"
	"sync"

	"github.com/pipetune/pipetune/internal/untrusted"
)

// mostComplaint is how many bytes are kept of a standard error.
const mostComplaint = 8 << 10

// complaint keeps the beginning of a standard error and, behind it, its end.
type complaint struct {
	mu   sync.Mutex
	text []byte
}

func (c *complaint) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text = append(c.text, p...)
	if extra := len(c.text) - mostComplaint; extra > 0 {
		c.text = append(c.text[:mostComplaint/2], c.text[mostComplaint/2+extra:]...)
	}
	return len(p), nil
}

// String is the line that says most, as the end of a sentence; "" when there is none.
func (c *complaint) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if line := errorLine(string(c.text)); line != "" {
		return ": " + line
	}
	return ""
}

// errorLine picks the exception behind a traceback, else a fatal error, else the first line that is not empty.
func errorLine(text string) string {
	var first, fatal, exception string
	traceback := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.TrimSpace(line) == "":
			continue
		case strings.HasPrefix(line, "Traceback (most recent call last)"):
			traceback = true
		case strings.HasPrefix(line, "Fatal Python error: ") && fatal == "":
			fatal = line
		case traceback && !strings.HasPrefix(line, " "):
			exception, traceback = line, false
		}
		first = cmp.Or(first, line)
	}
	return untrusted.Cut(cmp.Or(exception, fatal, first), 200).String()
}
