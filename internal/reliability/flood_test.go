//go:build reliability

package reliability

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/pipetune/pipetune/internal/recording"
)

var floodTrials = []trial{
	{
		id: "L7", fault: "the job floods the hook's socket",
		made: "`diagnose -- flood.py`: 64 processes of the job send as fast as they can for 10 s, well-formed, " +
			"without the token, garbage, and 1 MB at a time",
		target: "pipetune takes at most 10 % of a core and 64 MiB; what is left out is counted and said; the job's " +
			"result and status are its own", run: hookFlood,
	},
}

func hookFlood(s *stand) {
	file := s.in("run.jsonl")
	p := s.pipetune([]string{"diagnose", "-o", file, "--", s.python, s.testdata("reliability/flood.py"), "--clients",
		"64", "--seconds", "10"})
	p.awaitLines(1)
	flooded := p.meter(100*time.Millisecond, func(usage) bool { return bytes.Count(p.output(), []byte("\n")) > 1 })
	p.ends(5*time.Minute, 5) // as the job
	var result string
	var tried, sent int
	if _, err := fmt.Sscanf(string(p.output()), "flooding\n%s %d %d", &result, &tried, &sent); err != nil ||
		result != "right" {
		s.Errorf("the job writes %q", p.output())
	}
	if len(flooded) < 2 {
		s.Fatalf("the flood was seen %d times", len(flooded))
	}
	first, last := flooded[0], flooded[len(flooded)-1]
	if last.at-first.at < 2*time.Second {
		s.Fatalf("the flood was seen for %v", last.at-first.at)
	}
	share := (last.alone - first.alone).Seconds() / (last.at - first.at).Seconds()
	peak := max(last.peak, first.peak)
	rec := s.recording(file)
	said := slices.ContainsFunc(rec.Unseen, func(u recording.Unseen) bool { return u.Signal == "hook_*" })
	s.measured("%.2f million datagrams tried, %d taken by the kernel in %.0f s; pipetune %.1f %% of a core, at most "+
		"%.1f MiB; said that messages were left out: %t",
		float64(tried)/1e6, sent, (last.at - first.at).Seconds(), 100*share, mib(peak), said)
	if share > 0.10 {
		s.missed("%.1f %% of a core", 100*share)
	}
	if mib(peak) > 64 {
		s.missed("%.1f MiB", mib(peak))
	}
	if !said {
		s.Errorf("messages were left out, and nothing says so: %v", rec.Unseen)
	}
}
