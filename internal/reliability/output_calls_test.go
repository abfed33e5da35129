//go:build reliability

package reliability

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pipetune/pipetune/internal/must"
)

func failingCalls(s *stand) {
	source, dir, log := s.testdata("recordings/no-workers.jsonl"), s.folder("out"), s.in("strace.log")
	path := filepath.Join(dir, "run.json")
	runs := 0
	for _, fault := range []struct{ call, errno string }{
		{"write", "ENOSPC"}, {"write", "EIO"}, {"write", "EDQUOT"}, {"fsync", "EIO"}, {"renameat", "EIO"},
		{"openat", "EROFS"}, {"openat", "ENOSPC"}, {"unlinkat", "EIO"}, {"close", "EIO"},
	} {
		for n := 1; ; n++ {
			if n > 400 {
				s.Fatalf("%s still fails at call %d", fault.call, n)
			}
			must.Do(s, os.WriteFile(path, []byte(oldText), 0o600))
			inject := fmt.Sprintf("inject=%s:error=%s:when=%d+", fault.call, fault.errno, n)
			p := s.under([]string{"strace", "-f", "-qq", "-o", log, "-e", "trace=" + fault.call, "-e", inject},
				[]string{"report", source, "-o", path})
			status := p.wait(time.Minute)
			runs++
			trace := must.Get(os.ReadFile(log))(s)
			what := fmt.Sprintf("%s fails with %s from call %d on", fault.call, fault.errno, n)
			fresh := s.whole(path)
			switch {
			case bytes.Contains(trace, []byte("SIGSEGV")) || crashed(p.complaints()):
				s.Errorf("%s: it crashed: %.1500s", what, p.complaints())
			case status == 0 && !fresh:
				s.Errorf("%s: exit 0 with the old file", what)
			case status != 0 && status != 2:
				// The dynamic loader opens and closes files too, before any of pipetune's code runs: 127 is its own
				// word.
				if !strings.Contains(p.complaints(), "error while loading shared libraries") {
					s.Errorf("%s: exit %d: %s", what, status, p.complaints())
				}
			}
			// Where removing itself is what fails, a temporary name may be left.
			leftover := fault.call == "unlinkat" || fault.call == "openat"
			for _, e := range must.Get(os.ReadDir(dir))(s) {
				if e.Name() != "run.json" && !leftover {
					s.Errorf("left: %s", e.Name())
				}
				must.Do(s, os.RemoveAll(filepath.Join(dir, e.Name())))
			}
			if s.Failed() || !bytes.Contains(trace, []byte("INJECTED")) {
				break
			}
		}
	}
	s.measured("%d runs over 9 kinds of failing calls: the old file or the new one each time, exit 0 or 2, no crash",
		runs)
}
