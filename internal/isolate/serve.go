package isolate

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// Handler does one request of a task in the child. It may keep state between requests in its closure: a child serves
// one task, one request at a time. The context ends when the child is asked to go.
type Handler func(ctx context.Context, body json.RawMessage) (any, error)

// Table says which handler does which task. The task "paths" is always there.
type Table map[string]Handler

// Decoded is the handler of a task whose requests are of one type.
func Decoded[In any](do func(context.Context, In) (any, error)) Handler {
	return func(ctx context.Context, body json.RawMessage) (any, error) {
		var in In
		if err := json.Unmarshal(body, &in); err != nil {
			return nil, fmt.Errorf("decoding a request: %w", err)
		}
		return do(ctx, in)
	}
}

// termGrace is how long a child asked to end lets a running request finish; the parent kills it somewhat later.
const termGrace = 200 * time.Millisecond

// WithClose returns a handler whose child calls close once when it ends in good order, if there was any request.
func WithClose(handler Handler, close func()) Handler {
	var once sync.Once
	return func(ctx context.Context, body json.RawMessage) (any, error) {
		once.Do(func() {
			if end, found := ctx.Value(atEnd{}).(*[]func()); found {
				*end = append(*end, close)
			}
		})
		return handler(ctx, body)
	}
}

type atEnd struct{}

// Pipes returns the two ends a child must hand to Serve.
func Pipes() (requests io.Reader, answers io.Writer) {
	return os.NewFile(requestDescriptor, "requests"), os.NewFile(answerDescriptor, "answers")
}

// Serve is the child's whole life: it reads its limits, sets them on itself, answers requests for one task until its
// parent closes the pipe or SIGTERM arrives, and returns the exit code for main. Messages about its own failure go
// to standard error, where the parent picks them up.
func Serve(table Table, task string, requests io.Reader, answers io.Writer) int {
	complain := func(err error) int {
		fmt.Fprintf(os.Stderr, "serving %s: %v\n", task, err)
		return 1
	}
	handler := table[task]
	if task == pathsTask {
		handler = Decoded(servePath)
	}
	if handler == nil {
		return complain(errors.New("no such task"))
	}
	in := bufio.NewReader(requests)
	var hello greeting
	if line, err := readLine(in, maxLine); err != nil {
		return complain(fmt.Errorf("reading the greeting: %w", err))
	} else if err := json.Unmarshal(line, &hello); err != nil {
		return complain(fmt.Errorf("decoding the greeting: %w", err))
	}
	if err := hello.Limits.apply(); err != nil {
		return complain(err)
	}
	if err := forbidCalls(hello.UnixSockets); err != nil && !errors.Is(err, errNoFilter) { // doctor says it
		return complain(err)
	}
	if err := writeLine(answers, answer{}); err != nil {
		return complain(err)
	}

	var closers []func()
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), atEnd{}, &closers))
	defer cancel()
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	lines := make(chan []byte)
	go func() {
		defer close(lines)
		for {
			line, err := readLine(in, maxLine)
			if err != nil {
				return
			}
			lines <- line
		}
	}()
serving:
	for {
		select {
		case <-terminated:
			break serving
		case line, more := <-lines:
			if !more {
				break serving
			}
			done := make(chan answer, 1)
			go func() { done <- reply(ctx, handler, line) }()
			select {
			case result := <-done:
				if err := writeLine(answers, result); err != nil {
					return complain(err)
				}
			case <-terminated:
				cancel()
				select {
				case <-done:
					break serving
				case <-time.After(termGrace):
					return 128 + int(syscall.SIGTERM)
				}
			}
		}
	}
	for _, end := range closers {
		end()
	}
	return 0
}

// reply decodes one request, runs it and encodes what came of it. A panic is left to end the child: what it was
// working on cannot be trusted any more, and the parent reports the message.
func reply(ctx context.Context, handler Handler, line []byte) answer {
	var asked request
	if err := json.Unmarshal(line, &asked); err != nil {
		return answer{Error: &RemoteError{Message: "decoding the request: " + err.Error()}}
	}
	value, err := handler(ctx, asked.Body)
	if err != nil {
		failure := &RemoteError{Message: err.Error()}
		errors.As(err, &failure.Errno)
		return answer{ID: asked.ID, Error: failure}
	}
	body, err := json.Marshal(value)
	if err == nil && len(body) > maxLine-256 { // 256: room for the envelope
		err = fmt.Errorf("an answer of %d bytes, %d allowed", len(body), maxLine)
	}
	if err != nil {
		return answer{ID: asked.ID, Error: &RemoteError{Message: err.Error()}}
	}
	return answer{ID: asked.ID, Body: body}
}
