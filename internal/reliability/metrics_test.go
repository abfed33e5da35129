//go:build reliability

package reliability

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
)

var metricsTrials = []trial{{
	id: "A4", fault: "whoever is on this machine leans on --metrics-listen",
	made: "1,000 connections for 60 s that ask a byte a second, and come again when they are closed; Hosts and an " +
		"Origin of web pages elsewhere",
	target: "as many samples as without (95 %), at most 16 sockets more, 2 % of a CPU more; 403 for the pages; a " +
		"scrape answered within 5 s of the end", run: leanedOn,
}}

// leanedOn watches a job twice, alone and while its metrics are asked for too slowly.
func leanedOn(s *stand) {
	lasts := time.Duration(s.setting("RELIABILITY_A4_SECONDS", 60) * float64(time.Second))
	job := steady{batches: 100_000, step: 20 * time.Millisecond, workers: 2}.start(s)
	before, after := 5*time.Second, 8*time.Second
	whole := before + lasts + after
	quiet, quietRate := watchedAt(s, job, whole, func(string) {})
	pages, scraped := 0, time.Duration(0)
	most, rate := watchedAt(s, job, whole, func(address string) {
		time.Sleep(before)
		for _, headers := range []string{"Host: evil.example", "Host: localhost.evil.example:80", "",
			"Host: " + address + "\r\nOrigin: https://evil.example"} {
			if status := askedBy(s, address, headers); status == http.StatusForbidden {
				pages++
			} else {
				s.Errorf("%q is answered with %d", headers, status)
			}
		}
		lean(s, address, 1000, lasts)
		began := time.Now()
		if status := askedBy(s, address, "Host: "+address); status != http.StatusOK {
			s.Errorf("a scrape after it is answered with %d", status)
		}
		scraped = time.Since(began)
	})
	s.measured("%.1f samples a second of the trainer (%.1f without), %.2f %% of a core (%.2f), %d sockets (%d), "+
		"%d of 4 pages refused, a scrape answered %.1f s after", rate, quietRate, 100*most.share, 100*quiet.share,
		most.sockets, quiet.sockets, pages, scraped.Seconds())
	s.atMost(0.95*quietRate-rate, 0, "%.1f samples a second too few")
	s.atMost(float64(most.sockets-quiet.sockets), 16, "%.0f sockets more")
	s.atMost(100*(most.share-quiet.share), 2, "%.2f %% of a core more")
	s.atMost(scraped.Seconds(), 5, "a scrape answered after %.1f s")
	job.kill()
}

// crowded is what a watch took: its cost, and the most sockets it had open.
type crowded struct {
	cost
	sockets int
}

// watchedAt watches a job that offers metrics while something else is done, and returns what that took and how often
// the trainer was sampled each second.
func watchedAt(s *stand, job *command, lasts time.Duration, meanwhile func(address string)) (crowded, float64) {
	s.Helper()
	free := must.Get(net.Listen("tcp", "127.0.0.1:0"))(s)
	address, file := free.Addr().String(), s.in("run.jsonl")
	must.Do(s, free.Close())
	p := s.pipetune(watchOf(job, lasts.String(), "-o", file, "--metrics-listen", address))
	done := make(chan struct{})
	go func() { defer close(done); meanwhile(address) }()
	out := crowded{}
	readings := p.meter(200*time.Millisecond, func(u usage) bool {
		out.sockets = max(out.sockets, socketsOf(p))
		return u.at > lasts
	})
	<-done
	p.ends(time.Minute, 0)
	out.cost = s.costOf(readings)
	samples := 0.0
	for _, series := range s.recording(file).Series {
		if series.Metric == metric.LoaderSamples.Name {
			samples += series.Points[len(series.Points)-1].Value
		}
	}
	return out, samples / lasts.Seconds()
}

// socketsOf counts the sockets that a program has open.
func socketsOf(c *command) (n int) {
	links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", c.pid())) // the pattern is a good one
	for _, link := range links {
		to, err := os.Readlink(link)
		if err == nil && strings.HasPrefix(to, "socket:") { // else it was closed meanwhile
			n++
		}
	}
	return n
}

// askedBy asks for metrics with some headers, and returns the status of the answer.
func askedBy(s *stand, address, headers string) int {
	s.Helper()
	conn := must.Get(net.DialTimeout("tcp", address, 10*time.Second))(s)
	defer conn.Close()
	must.Do(s, conn.SetDeadline(time.Now().Add(10*time.Second)))
	must.Get(fmt.Fprintf(conn, "GET /metrics HTTP/1.1\r\n%s\r\n", strings.TrimPrefix(headers+"\r\n", "\r\n")))(s)
	answer := must.Get(http.ReadResponse(bufio.NewReader(conn), nil))(s)
	must.Do(s, answer.Body.Close())
	return answer.StatusCode
}

// slowRequest takes longer than any answer is waited for.
var slowRequest = "GET /metrics HTTP/1.1\r\nA: " + strings.Repeat("b", 100)

// lean holds so many connections open for so long, each of which sends a byte a second.
func lean(s *stand, address string, connections int, lasts time.Duration) {
	s.Helper()
	until := time.Now().Add(lasts)
	var all sync.WaitGroup
	for range connections {
		all.Go(func() {
			for time.Now().Before(until) {
				conn, err := net.DialTimeout("tcp", address, time.Second)
				if err != nil { // it refuses: that is its right
					time.Sleep(100 * time.Millisecond)
					continue
				}
				for rest := slowRequest; err == nil && rest != "" && time.Now().Before(until); rest = rest[1:] {
					_, err = conn.Write([]byte(rest[:1]))
					time.Sleep(time.Second)
				}
				_ = conn.Close() // whatever became of it
			}
		})
	}
	all.Wait()
}
