package python

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/must"
)

// TestHangingInterpreterIsKilled: it is gone, and all that it started, when the time is over or the context ends.
func TestHangingInterpreterIsKilled(t *testing.T) {
	program, pids := filepath.Join(t.TempDir(), "python3"), filepath.Join(t.TempDir(), "pids")
	must.Do(t, os.WriteFile(program, []byte("#!/bin/sh\nsleep 1000 & echo $$ $! > "+pids+
		"; echo pipetune-answer:1; wait\n"), 0o755))
	for name, c := range map[string]struct {
		limit time.Duration
		stop  bool
	}{"limit": {300 * time.Millisecond, false}, "context": {time.Hour, true}} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			err := Listen(ctx, []string{program}, nil, c.limit, func([]byte) error {
				if c.stop {
					cancel()
				}
				return nil
			})
			if err == nil || errors.Is(err, context.Canceled) != c.stop {
				t.Fatalf("%v", err)
			}
			for text := range strings.FieldsSeq(string(must.Get(os.ReadFile(pids))(t))) {
				if pid := must.Get(strconv.Atoi(text))(t); alive(pid) {
					t.Errorf("process %d is left", pid)
				}
			}
		})
	}
}
