package isolate

import (
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/untrusted"
)

// maxStderr bounds what is kept of a child's standard error at its start and again at its end; the middle is dropped.
const maxStderr = 4096

// stderrTail takes in what a child writes to standard error. It reads for ever, so that a chatty library cannot block
// on a full pipe, and keeps the two ends.
type stderrTail struct {
	from *os.File
	over chan struct{} // closed at end of file

	mu   sync.Mutex
	text []byte
}

func listen(from *os.File) *stderrTail {
	m := &stderrTail{from: from, over: make(chan struct{})}
	go func() {
		defer close(m.over)
		defer from.Close()
		// An error is its end as well. Hidden is a WriteTo with a buffer of its own, eight times as large.
		_, _ = io.CopyBuffer(m, struct{ io.Reader }{from}, make([]byte, maxStderr))
	}()
	return m
}

func (m *stderrTail) Write(piece []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.text = append(m.text, piece...)
	if extra := len(m.text) - 2*maxStderr; extra > 0 {
		m.text = slices.Delete(m.text, maxStderr, maxStderr+extra)
	}
	return len(piece), nil
}

// settle waits until all that a dead child wrote has been read; a moment at most, should somebody else hold the pipe.
func (m *stderrTail) settle() {
	_ = m.from.SetReadDeadline(time.Now().Add(reapLimit))
	<-m.over
}

func (m *stderrTail) lines() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return strings.Split(string(m.text), "\n")
}

// cause matches the lines by which the Go runtime, glibc and the dynamic linker say why a process ends.
var cause = regexp.MustCompile(
	`^(fatal error: |panic: |runtime: |SIG[A-Z0-9]+: |.*symbol lookup error|.*Assertion .* failed)`)

// line returns the line that says most: the first that names a cause, else the last that is not empty.
func (m *stderrTail) line() string {
	last := ""
	for _, line := range m.lines() {
		if cause.MatchString(line) {
			last = line
			break
		}
		if strings.TrimSpace(line) != "" {
			last = line
		}
	}
	return untrusted.Cut(last, 200).String()
}

var signalLine = regexp.MustCompile(`^(SIG[A-Z0-9]+): `)

// signal returns the signal that the Go runtime named, 0 when it named none.
func (m *stderrTail) signal() syscall.Signal {
	for _, line := range m.lines() {
		if found := signalLine.FindStringSubmatch(line); found != nil {
			return unix.SignalNum(found[1])
		}
	}
	return 0
}
