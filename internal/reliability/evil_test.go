//go:build reliability

package reliability

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/pipetune/pipetune/internal/must"
)

var evilTrials = []trial{
	{id: "A5", fault: "somebody else's report or recording", made: "`report` and `compare` of files 10,000 and " +
		"1,000,000 levels deep, of 1 GiB, with keys named twice, 1e999, wrong types, 3-byte values by the million, " +
		"long lines, paths to a FIFO",
		target: "at most 256 MiB and 5 s of CPU, exit 2, no file that it names is opened", run: evilFiles},
	{id: "A5-readings", fault: "a recording of 10,000,000 readings",
		made:   "`report` of 60 MB of readings in lines of 200,000",
		target: "at most 256 MiB and 5 s of CPU, exit 2 or 3", run: evilReadings},
}

const (
	evilHead      = `{"schema":"pipetune.report","schema_version":"1.0.0","kind":"diagnose",`
	evilRecording = `{"header":{"schema":"pipetune.recording","schema_version":"1.0.0"}}` + "\n"
	evilBytes     = 15 << 20 // under what a report may have, so that it is read whole
)

// evilFile is one file; ok says that it is a report after all, whose harm is in its strings.
type evilFile struct {
	name, text string
	ok         bool
	sparse     int64 // grown to this size with zeros
}

func evilReports(fifo string) []evilFile {
	many := func(one string) string {
		return strings.TrimSuffix(strings.Repeat(one+",", evilBytes/(len(one)+1)), ",")
	}
	keys := func(value string) string {
		var b strings.Builder
		for i := 0; b.Len() < evilBytes; i++ {
			fmt.Fprintf(&b, `"%x":%s,`, i, value)
		}
		return strings.TrimSuffix(b.String(), ",")
	}
	all := []evilFile{
		{name: "10,000 deep", text: evilHead + `"x":` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) +
			"}"},
		{name: "1,000,000 deep", text: evilHead + `"x":` + strings.Repeat(`{"a":`, 1_000_000) + "1" +
			strings.Repeat("}", 1_000_000) + "}"},
		{name: "9,000 deep, findings", text: evilHead + `"findings":` + strings.Repeat("[", 9_000) +
			strings.Repeat("]", 9_000) + "}"},
		{name: "1 GiB", text: evilHead, sparse: 1 << 30},
		{name: "1 GiB of zeros", sparse: 1 << 30},
		{name: "1 GiB, recording", text: evilRecording, sparse: 1 << 30},
		{name: "key twice", text: evilHead + `"verdict":null,"verdict":null}`},
		{name: "key twice, other case", text: evilHead + `"Kind":"bench-io"}`},
		{name: "1e999", text: evilHead + `"metrics":{"a":{"center":1e999,"basis":"measured"}}}`},
		{name: "-1e999 in a list", text: evilHead +
			`"metrics":{"a":{"center":1,"basis":"measured","windows":[-1e999]}}}`},
		{name: "number of 1 MB", text: evilHead + `"window":{"duration_s":` + strings.Repeat("9", 1<<20) + `}}`},
		{name: "cut off", text: evilHead + `"findings":[{"rule":"a`},
		{name: "two reports", text: evilHead + `"x":1}` + evilHead + `"x":1}`},
		{name: "no UTF-8", text: evilHead + `"warnings":["` + strings.Repeat("\xff\xc0", 1<<20) + `"]}`, ok: true},
		{name: "15 MB of escapes", text: evilHead + `"warnings":["` + strings.Repeat(`\u001b`, evilBytes/6) + `"]}`,
			ok: true},
		{name: "15 MB in one string", text: evilHead +
			`"verdict":{"class":"balanced","confidence":"low","statement":"` + strings.Repeat("a b", evilBytes/3) +
			`"}}`, ok: true},
		{name: "90,000 warnings", text: evilHead + `"warnings":[` +
			strings.TrimSuffix(strings.Repeat(`"`+strings.Repeat("w", 100)+`",`, 90_000), ",") + `]}`, ok: true},
		{name: "path of a FIFO", text: evilHead + `"patch":{"file":"` + fifo + `","diff":"--- ` + fifo +
			`","settings":[{"setting":"num_workers","from":"0","to":"4","line":1,"how":"replaced"}]},"next":["pipetune report ` + fifo + `"],"host":{"storage":[{"path":"` + fifo + `"}]},"job":{"pid":1,"command":["` + fifo + `"],"dataset":"` + fifo + `"}}`, ok: true},
		{name: "many metrics", text: evilHead + `"metrics":{` + keys(`{"basis":"measured"}`) + `}}`},
		{name: "many unknown keys", text: evilHead + `"x":{` + keys("1") + `}}`},
		{name: "many windows", text: evilHead + `"metrics":{"a":{"basis":"measured","windows":[` + many("1") + `]}}}`},
	}
	for list := range strings.FieldsSeq("findings measurements abstained plans phases ranks warnings next") {
		for _, one := range []string{"{}", `""`} {
			all = append(all, evilFile{name: list + " of " + one, text: evilHead + `"` + list + `":[` + many(one) +
				`]}`})
		}
	}
	for _, wrong := range []string{`"metrics":[]`, `"verdict":1`, `"findings":{}`, `"job":"x"`, `"host":[1]`,
		`"window":true`, `"kind":{}`, `"warnings":[1]`, `"patch":[]`, `"benchmark":1`, `"tool":{"overhead":"x"}`} {
		all = append(all, evilFile{name: "wrong type: " + wrong, text: evilHead + wrong + "}"})
	}
	lines := func(format string, n int) string {
		var b strings.Builder
		b.WriteString(evilRecording)
		for i := range n {
			fmt.Fprintf(&b, format+"\n", i)
		}
		return b.String()
	}
	return append(all,
		evilFile{name: "a line of 16 MB", text: evilRecording + `{"t":1,"v":[` + many("[0,1]") + "]}\n"},
		evilFile{name: "a series of a million fields", text: evilRecording + `{"series":[` +
			strings.TrimSuffix(strings.Repeat("1,", 1<<20), ",") + "]}\n"},
		evilFile{name: "400,000 events",
			text: lines(`{"event":{"t":1,"kind":"epoch","entity":"loop/%d","attrs":{"a":"1","b":"2","c":"3"}}}`,
				400_000)},
		evilFile{name: "400,000 notes", text: lines(`{"unseen":{"signal":"a%d","reason":"b"}}`, 400_000)},
		evilFile{name: "400,000 series", text: lines(`{"series":[%[1]d,"m","process/%[1]d.1"]}`, 400_000)},
		evilFile{name: "time of 1e300", text: evilRecording + `{"series":[0,"a","b"]}` + "\n" +
			`{"t":1e300,"v":[[0,1]]}` + "\n"},
		evilFile{name: "series named twice", text: evilRecording + `{"series":[0,"a","b"]}` + "\n" +
			`{"series":[0,"a","b"]}` + "\n"},
		evilFile{name: "series of -1", text: evilRecording + `{"t":1,"v":[[-1,1]]}` + "\n"},
	)
}

// heavy is what reading one file took.
type heavy struct {
	status int
	cpu    time.Duration
	rss    int64
	said   string
}

func (s *stand) reads(args ...string) heavy {
	s.Helper()
	// A process starts with the peak of the one that it was forked from, and this one holds the files: a small one
	// stands between.
	const between = `import resource, subprocess, sys
code = subprocess.call(sys.argv[1:])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print("\nUSED", used.ru_maxrss, int(1e9 * (used.ru_utime + used.ru_stime)), file=sys.stderr)
sys.exit(code)`
	c := s.under([]string{"/usr/bin/python3", "-c", between}, args)
	h := heavy{status: c.wait(5 * time.Minute)}
	said, used, _ := strings.Cut(c.complaints(), "\nUSED ")
	var cpu int64
	if _, err := fmt.Sscan(used, &h.rss, &cpu); err != nil {
		s.Fatalf("%v: %.300s", err, c.complaints())
	}
	h.rss, h.cpu, h.said = h.rss<<10, time.Duration(cpu), said
	return h
}

func evilFiles(s *stand) {
	fifo, path, good := s.in("fifo"), s.in("evil.json"), s.testdata("reports/reopened.json")
	must.Do(s, syscall.Mkfifo(fifo, 0o600))
	files := evilReports(fifo)
	var most heavy
	worstRSS, worstCPU, runs := "", "", 0
	for i, e := range files {
		must.Do(s, os.WriteFile(path, []byte(e.text), 0o600))
		if e.sparse > 0 {
			must.Do(s, os.Truncate(path, e.sparse))
		}
		commands := [][]string{{"report", path}}
		switch {
		case i%5 == 0 && !e.ok: // compare reads in the same way
			commands = append(commands, []string{"compare", path, good})
		case e.ok:
			commands = [][]string{{"report", path}, {"report", "--format", "md", path}, {"report", "--format", "json",
				path}}
		}
		for _, args := range commands {
			h := s.reads(args...)
			runs++
			switch {
			case e.ok && h.status != 0, !e.ok && h.status != 2 &&
				!(h.status == 3 && strings.HasPrefix(e.text, evilRecording)):
				s.Errorf("%s, %s: exit %d: %.300s", e.name, args[0], h.status, h.said)
			case h.status != 0 && strings.Count(h.said, "\n") > 3:
				s.Errorf("%s, %s: %d lines of complaint", e.name, args[0], strings.Count(h.said, "\n"))
			}
			if h.rss > most.rss {
				most.rss, worstRSS = h.rss, e.name
			}
			if h.cpu > most.cpu {
				most.cpu, worstCPU = h.cpu, e.name
			}
		}
	}
	s.measured("%d runs on %d files: at most %d MiB (%s) and %.1f s of CPU (%s)", runs, len(files), most.rss>>20,
		worstRSS, most.cpu.Seconds(), worstCPU)
	if most.rss > 256<<20 || most.cpu > 5*time.Second {
		s.missed("%d MiB for %s, %.1f s of CPU for %s", most.rss>>20, worstRSS, most.cpu.Seconds(), worstCPU)
	}
}

func evilReadings(s *stand) {
	path := s.in("readings.jsonl")
	f := must.Get(os.Create(path))(s)
	w := bufio.NewWriterSize(f, 1<<20) // which keeps the first error
	fmt.Fprintln(w, evilRecording+`{"series":[0,"worker_busy_ratio","process/1.1"]}`)
	line := strings.TrimSuffix(strings.Repeat("[0,1],", 200_000), ",")
	for i := range 50 {
		fmt.Fprintf(w, `{"t":%d,"v":[%s]}`+"\n", i, line)
	}
	must.Do(s, errors.Join(w.Flush(), f.Close()))
	h := s.reads("report", path)
	if h.status != 2 && h.status != 3 {
		s.Errorf("exit %d: %.300s", h.status, h.said)
	}
	s.measured("%d MiB, %.1f s of CPU, exit %d", h.rss>>20, h.cpu.Seconds(), h.status)
	if h.rss > 256<<20 || h.cpu > 5*time.Second {
		s.missed("%d MiB and %.1f s of CPU: a recording's readings are held in memory, 16 bytes each and as much "+
			"again while they grow, and a watch of a day has as many", h.rss>>20, h.cpu.Seconds())
	}
}
