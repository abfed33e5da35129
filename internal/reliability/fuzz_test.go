//go:build reliability

package reliability

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/pipetune/pipetune/internal/must"
)

var fuzzTrials = []trial{
	{id: "D10", fault: "input that nobody has thought of", made: "every fuzz target on its seeds and kept corpus, " +
		"then for RELIABILITY_FUZZTIME (1 s) each",
		target: "no crasher; a target for each decoder and writer of foreign text",
		run:    func(s *stand) { fuzz(s, time.Second) }},
	{id: "D10-hour", fault: "input that nobody has thought of",
		made: "every fuzz target for 10 minutes (RELIABILITY_FUZZTIME)", target: "no crasher", long: true,
		run: func(s *stand) { fuzz(s, 10*time.Minute) }},
}

// mustFuzz are the packages that take in, or write out, what others have made.
var mustFuzz = strings.Fields(
	`internal/compare internal/dataset internal/evidence internal/hdf5 internal/hook internal/isolate internal/jpeg internal/openfiles internal/patch internal/procfs
	internal/recording internal/render internal/untrusted pkg/report`)

// executed is the last figure that go's fuzzer prints of a target.
var executed = regexp.MustCompile(`execs: ([0-9]+) `)

func fuzz(s *stand, each time.Duration) {
	root := repository(s)
	limit, err := time.ParseDuration(cmp.Or(os.Getenv("RELIABILITY_FUZZTIME"), each.String()))
	if err != nil || limit <= 0 {
		s.Fatalf("RELIABILITY_FUZZTIME: a duration is wanted: %v", err)
	}
	s.shortened("RELIABILITY_FUZZTIME", limit.Seconds(), each.Seconds())
	c := s.start("fuzz", []string{filepath.Join(root, "scripts/fuzz"), limit.String()})
	status := c.wait(time.Hour + 100*limit)
	out := string(c.output())
	packages, targets, execs, last := map[string]bool{}, 0, 0, 0
	for line := range strings.Lines(c.complaints()) {
		if words := strings.Fields(line); len(words) == 3 && words[0] == "==" {
			packages[strings.TrimPrefix(words[1], "./")] = true
			targets++
		}
	}
	for line := range strings.Lines(out) {
		if m := executed.FindStringSubmatch(line); m != nil {
			n := must.Get(strconv.Atoi(m[1]))(s)
			if n < last { // the next target has begun
				execs += last
			}
			last = n
		}
	}
	execs += last
	for _, p := range mustFuzz {
		if !packages[p] {
			s.Errorf("no fuzz target in %s", p)
		}
	}
	if status != 0 {
		s.Errorf("a target failed: %.2000s\n%.1000s", c.complaints(), out)
	}
	if execs == 0 {
		s.Errorf("nothing was run: %.600s", out)
	}
	s.measured("%d targets in %d packages, %s each: %d executions, exit %d", targets, len(packages), limit, execs,
		status)
	kept := must.Get(filepath.Glob(filepath.Join(root, "*", "*", "testdata", "fuzz", "*", "*")))(s)
	s.measured("%d inputs are kept with the source", len(kept))
}
