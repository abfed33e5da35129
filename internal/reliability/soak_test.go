//go:build reliability

package reliability

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/pipetune/pipetune/internal/must"
)

var soakTrials = []trial{
	{
		id: "L8", fault: "a watch of hours beside a job whose workers come and go", long: true,
		made: "`diagnose --interval 20ms -o run.jsonl` for 144 minutes (RELIABILITY_MINUTES) beside 32 workers that " +
			"stay and 5 births a second; resident memory, descriptors and threads from /proc each 15 s",
		target: "memory grows by at most 0.5 MiB an hour once the recording is full, and after an hour at the " +
			"latest; threads within ±2, descriptors within those of the workers alive ±2",
		run: func(s *stand) { soak(s, s.minutes(144)) },
	},
	{
		id: "L8-race", fault: "a data race in a long watch", long: true,
		made:   "a binary built with -race, as in L8, for 60 minutes (RELIABILITY_MINUTES)",
		target: "no report of the race detector", run: raceSoak,
	},
}

const soakEvery = 15 * time.Second

// watchOfHours starts it beside a job whose workers come and go.
func (s *stand) watchOfHours(lasts time.Duration) (job, p *command, file string) {
	s.Helper()
	file = s.in("run.jsonl")
	job = churn{flags: []string{"--steady", "32", "--rate", "5", "--life", "1"}}.start(s)
	return job, s.pipetune(watchOf(job, lasts.String(), "--interval", "20ms", "-o", file)), file
}

func soak(s *stand, lasts time.Duration) {
	c, p, file := s.watchOfHours(lasts)
	readings := p.meter(soakEvery, func(u usage) bool {
		s.Logf("%6.0f s  rss %.2f MiB  peak %.2f MiB  fds %d  threads %d  helpers %d  cpu %.2f s", u.at.Seconds(),
			mib(u.own), mib(u.peak), u.fds, u.threads, u.helpers, u.cpu.Seconds())
		return u.at > lasts-soakEvery // what comes then is the judging of it
	})
	p.ends(20*time.Minute, 0)
	born := s.stopChurn(c)
	if len(readings) < 12 {
		s.Fatalf("%d readings in %v", len(readings), lasts)
	}
	info := must.Get(os.Stat(file))(s)
	thirds := [3]float64{}
	for i := range thirds {
		thirds[i] = middle(readings[i*len(readings)/3:(i+1)*len(readings)/3],
			func(u usage) float64 { return mib(u.own) })
	}
	settled := readings[steadyFrom(readings, s.fullAt(file)):]
	whole, late := slope(readings), slope(settled)
	share := readings[len(readings)-1].cpu.Seconds() / readings[len(readings)-1].at.Seconds()
	threads, threadsOff := spread(settled, func(u usage) float64 { return float64(u.threads) })
	countFDs := func(u usage) float64 { return float64(u.fds) }
	third := len(settled) / 3
	fdsOff := middle(settled[len(settled)-third:], countFDs) - middle(settled[:third], countFDs)
	s.measured("%.0f minutes, %d births; memory by thirds %.1f, %.1f, %.1f MiB (medians), slope %.2f MiB/h, and %.2f "+
		"MiB/h after %.0f minutes; %.0f descriptors (last third against first: %+.0f), %.0f threads (±%.0f); %.1f %% "+
		"of a core; recording %.1f MiB",
		lasts.Minutes(), born, thirds[0], thirds[1], thirds[2], whole, late, settled[0].at.Minutes(),
		middle(settled, countFDs), fdsOff, threads, threadsOff, 100*share, mib(info.Size()))
	if late > 0.5 {
		s.missed("%.2f MiB/h after %.0f minutes", late, settled[0].at.Minutes())
	}
	s.atMost(threadsOff, 2, "threads ±%.0f")
	s.atMost(fdsOff, 2, "%.0f descriptors more in the last third than in the first")
}

// fullAt says when a recording was thinned first; the hour, or what is left of a shorter soak, where it never was.
func (s *stand) fullAt(file string) time.Duration {
	s.Helper()
	f := must.Get(os.Open(file))(s)
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, 16<<20)
	at := 0.0
	for in.Scan() {
		if strings.HasPrefix(in.Text(), `{"thinned"`) {
			s.measured("recording full after %.0f minutes", at/60)
			return time.Duration(at * float64(time.Second))
		}
		var t float64
		if _, err := fmt.Sscanf(in.Text(), `{"t":%g,`, &t); err == nil {
			at = max(at, t)
		}
	}
	must.Do(s, in.Err())
	s.measured("recording not full")
	return time.Hour
}

// steadyFrom is the reading from which memory is held to the target: when the recording is full, after an hour at the
// latest, or after half of a soak that is shorter still.
func steadyFrom(readings []usage, full time.Duration) int {
	last := readings[len(readings)-1].at
	from := min(full, time.Hour)
	if from > last*9/10 {
		from = last / 2
	}
	return max(slices.IndexFunc(readings, func(u usage) bool { return u.at >= from }), 0)
}

// middle is the median of a figure.
func middle(readings []usage, figure func(usage) float64) float64 {
	values := make([]float64, len(readings))
	for i, u := range readings {
		values[i] = figure(u)
	}
	return centre(values)
}

// spread is the median of a figure, and how far the readings lie from it, the outermost twentieth left out.
func spread(readings []usage, figure func(usage) float64) (center, off float64) {
	center = middle(readings, figure)
	away := make([]float64, len(readings))
	for i, u := range readings {
		away[i] = math.Abs(figure(u) - center)
	}
	slices.Sort(away)
	return center, away[len(away)*19/20]
}

// slope is by how many MiB an hour memory grows, by least squares.
func slope(readings []usage) float64 {
	var n, sx, sy, sxx, sxy float64
	for _, u := range readings {
		x, y := u.at.Hours(), mib(u.own)
		n, sx, sy, sxx, sxy = n+1, sx+x, sy+y, sxx+x*x, sxy+x*y
	}
	return (n*sxy - sx*sy) / (n*sxx - sx*sx)
}

// raceSoak builds the program with the race detector and soaks it.
func raceSoak(s *stand) {
	s.binary = s.in("pipetune-race")
	inRepository(s, time.Hour, "go", "build", "-race", "-buildvcs=false", "-o", s.binary, "./cmd/pipetune")
	lasts := s.minutes(60)
	c, p, _ := s.watchOfHours(lasts)
	p.ends(lasts+20*time.Minute, 0)
	if races := strings.Count(p.complaints(), "DATA RACE"); races > 0 {
		s.Errorf("%d races; stderr: %.4000s", races, p.complaints())
	}
	s.measured("%.0f minutes, %d births, 0 races", lasts.Minutes(), s.stopChurn(c))
}
