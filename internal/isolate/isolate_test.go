package isolate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 2 && os.Args[1] == "__child":
		requests, answers := Pipes()
		os.Exit(Serve(testTable(), os.Args[2], requests, answers))
	case len(os.Args) > 1 && os.Args[1] == "__parent":
		parent()
	case len(os.Args) > 1 && os.Args[1] == "__paused":
		paused()
		return
	}
	os.Exit(m.Run())
}

// testTable holds tasks that misbehave.
func testTable() Table {
	count := 0
	return Table{
		"echo": func(_ context.Context, body json.RawMessage) (any, error) { return body, nil },
		"count": WithClose(func(context.Context, json.RawMessage) (any, error) { count++; return count, nil },
			func() { fmt.Fprintln(os.Stderr, "closed after", count) }),
		"die": Decoded(misbehave),
		"slow": func(context.Context, json.RawMessage) (any, error) {
			time.Sleep(300 * time.Millisecond)
			return "slow", nil
		},
		"self":      describeSelf,
		"inherited": describeInherited,
		"exploit":   Decoded(tryEverything),
		"sockets":   makeSockets,
		"read": Decoded(func(_ context.Context, path string) (any, error) {
			text, err := os.ReadFile(path)
			return string(text), err
		}),
		"write": Decoded(func(_ context.Context, in toWrite) (any, error) {
			return in.Bytes, os.WriteFile(in.Path, make([]byte, in.Bytes), 0o600)
		}),
	}
}

func misbehave(_ context.Context, how string) (any, error) {
	switch how {
	case "exit 7":
		fmt.Fprintln(os.Stderr, "first\nthe last \x1b[31mwords")
		os.Exit(7)
	case "SIGKILL", "SIGABRT", "SIGSEGV":
		_ = syscall.Kill(os.Getpid(), unix.SignalNum(how))
	case "nil pointer":
		var p *int
		return *p, nil
	case "wild pointer":
		address := uintptr(0xdeadbeef000)
		return **(**int)(unsafe.Pointer(&address)), nil
	case "panic":
		panic("cannot go on")
	case "cpu":
		for burnt := 0; ; burnt++ {
			_ = burnt
		}
	case "memory":
		var hold [][]byte
		for {
			hold = append(hold, bytes.Repeat([]byte{1}, 16*mib))
			_ = hold
		}
	case "garbage":
		_, answers := Pipes()
		_, _ = io.WriteString(answers, "\x1b[31mnot json\n")
	case "wrong number":
		_, answers := Pipes()
		_, _ = io.WriteString(answers, `{"id":99,"body":1}`+"\n")
	case "1 GB":
		_, answers := Pipes()
		piece := bytes.Repeat([]byte("x"), mib)
		for range 1024 {
			if _, err := answers.Write(piece); err != nil {
				os.Exit(3)
			}
		}
	case "1 GB of stderr":
		piece := []byte(strings.Repeat("noise ", mib/6))
		for range 1024 {
			_, _ = os.Stderr.Write(piece)
		}
		fmt.Fprintln(os.Stderr, "\nthe end")
		os.Exit(5)
	case "ignore SIGTERM":
		signal.Ignore(syscall.SIGTERM)
	case "error":
		return nil, fmt.Errorf("opening x: %w", syscall.ENOENT)
	case "too much":
		return strings.Repeat("x", 5*mib), nil
	case "channel":
		return make(chan int), nil
	}
	select {}
}

func newRunner(t *testing.T, change ...func(*Config)) *Runner {
	t.Helper()
	config := Config{Args: []string{"__child"}}
	for _, f := range change {
		f(&config)
	}
	r := New(config)
	t.Cleanup(r.Close)
	return r
}

// gone says whether a process has ended; one that only waits for its parent's wait has.
func gone(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(rest, "Z") || strings.HasPrefix(rest, "X")
}

func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited 10 s for %s", what)
		}
	}
}
