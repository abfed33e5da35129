package exporter

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/must"
)

func scraped(t *testing.T) (address string) {
	t.Helper()
	s := NewServer(must.Get(net.Listen("tcp", "127.0.0.1:0"))(t), New("1.2.3"))
	served := make(chan struct{})
	go func() {
		defer close(served)
		s.Serve()
	}()
	t.Cleanup(func() {
		s.Close()
		<-served
	})
	return s.listener.Addr().String()
}

// TestScrape asks as Prometheus does, by Go's own client.
func TestScrape(t *testing.T) {
	at := "http://" + scraped(t)
	for _, c := range []struct {
		method, path string
		status       int
		kind, holds  string
	}{
		{"GET", "/metrics", 200, ContentType, `pipetune_build_info{version="1.2.3"} 1`},
		{"GET", "/metrics?collect=all", 200, ContentType, "pipetune_build_info"},
		{"HEAD", "/metrics", 200, ContentType, ""},
		{"GET", "/", 200, "text/plain; charset=utf-8", "/metrics"},
		{"GET", "/metrics/", 404, "text/plain; charset=utf-8", "/metrics"},
		{"POST", "/metrics", 405, "text/plain; charset=utf-8", "GET"},
	} {
		r := must.Get(http.DefaultClient.Do(must.Get(http.NewRequest(c.method, at+c.path, nil))(t)))(t)
		body := must.Get(io.ReadAll(r.Body))(t)
		must.Do(t, r.Body.Close())
		if r.StatusCode != c.status || r.Header.Get("Content-Type") != c.kind || !strings.Contains(string(body),
			c.holds) || c.method == "HEAD" && len(body) > 0 {
			t.Errorf("%s %s: %s, %v\n%s", c.method, c.path, r.Status, r.Header, body)
		}
		if _, err := http.ParseTime(r.Header.Get("Date")); err != nil {
			t.Error(err)
		}
	}
}

// TestScrapeOfNoHTTP: what is no request gets an answer that says so, or none, and never the metrics.
func TestScrapeOfNoHTTP(t *testing.T) {
	s := &Server{text: New("1").Text}
	for request, want := range map[string]string{
		"":                                 "",
		"\r\n\r\n":                         "HTTP/1.1 400 ",
		"GET /metrics\r\n\r\n":             "HTTP/1.1 400 ",
		"GET /metrics HTTP/1.1\r\n":        "HTTP/1.1 400 ", // and no more comes
		"GET /metrics HTTP/2.0\r\n\r\n":    "HTTP/1.1 400 ",
		"GET /metrics HTTP/1.0\n\n":        "HTTP/1.1 200 ",
		"\x16\x03\x01\x02\x00\x01\x00\x01": "HTTP/1.1 400 ", // TLS
		"GET /metrics HTTP/1.1\r\nA: " + strings.Repeat("b", longestRequest) + "\r\n\r\n": "HTTP/1.1 400 ",
	} {
		if got := string(s.answer(strings.NewReader(request))); !strings.HasPrefix(got, want) || want == "" &&
			got != "" {
			t.Errorf("%.40q: %.40q, want %q", request, got, want)
		}
	}
}

// TestScrapeByAWebPage: what listens for this machine alone answers no page of another that a browser here shows.
func TestScrapeByAWebPage(t *testing.T) {
	for headers, status := range map[string]string{
		"Host: localhost:9465":              "200",
		"host:127.0.0.1:9465":               "200",
		"Host: [::1]:9465":                  "200",
		"Host: 127.0.1.1:9465":              "200",
		"Host: localhost":                   "200",
		"Host: localhost:1234":              "200", // forwarded
		"":                                  "403",
		"Host: ":                            "403",
		"Host: localhost.evil.example:9465": "403",
		"Host: localhost.:9465":             "403",
		"Host: LOCALHOST:9465":              "403",
		"Host: 0.0.0.0:9465":                "403",
		"Host: [::ffff:127.0.0.1]:9465":     "403",
		"Host: 2130706433:9465":             "403",
		"Host: localhost:9465\r\nHost: localhost:9465":         "403",
		"Host: localhost:9465\r\nOrigin: https://evil.example": "403",
		"Host: localhost:9465\r\nORIGIN: null":                 "403",
		"Host: localhost:9465\r\nUser-Agent: Prometheus/3.5.0": "200",
		"Host: evil.example\r\nHost: 127.0.0.1:9465":           "403",
	} {
		asked := strings.NewReader("GET /metrics HTTP/1.1\r\n" + strings.TrimPrefix(headers+"\r\n", "\r\n") + "\r\n")
		for _, local := range []bool{true, false} {
			must.Get(asked.Seek(0, io.SeekStart))(t)
			got := string((&Server{text: New("1").Text, local: local}).answer(asked))
			want := status
			if !local {
				want = "200" // by whichever name others reach it
			}
			if !strings.HasPrefix(got, "HTTP/1.1 "+want+" ") {
				t.Errorf("%q, local %v: %.30q, want %s", headers, local, got, want)
			}
		}
	}
}
