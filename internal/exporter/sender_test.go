package exporter

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/must"
)

// TestSender: a watch is sent again and again where asked for, at its end once more; refusals are said once.
func TestSender(t *testing.T) {
	for status, want := range map[int]string{200: "", 404: "metrics were not sent to http://"} {
		sent := make(chan string, 1000)
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			sent <- r.URL.Path + string(must.Get(io.ReadAll(r.Body))(t))
			w.WriteHeader(status)
		}))
		var said bytes.Buffer
		getenv := func(name string) string {
			return map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": s.URL, "OTEL_METRIC_EXPORT_INTERVAL": "20"}[name]
		}
		from := New("1.2.3")
		sender := OpenSender(getenv, into(&said), from)
		for range 3 {
			if got := take(t, sent, sender); !strings.HasPrefix(got, "/v1/metrics{") ||
				!strings.Contains(got, "pipetune_build_info") {
				t.Fatal(got)
			}
		}
		from.Job("train.py")
		sender.Close()
		sender.Complain()
		last := ""
		for len(sent) > 0 {
			last = <-sent
		}
		if !strings.Contains(last, "train.py") {
			t.Errorf("at the end %s", last)
		}
		first, rest, _ := strings.Cut(said.String(), "\n")
		if !strings.Contains(first, s.URL+"/v1/metrics every 20ms, as OTEL_EXPORTER_OTLP_ENDPOINT asks") ||
			strings.Count(rest, "metrics were not sent") != strings.Count(want, "metrics were not sent") {
			t.Errorf("said:\n%s", said.String())
		}
		s.Close()
	}
}

// TestSenderOfNothing: without the variables nothing is sent, and one that cannot be followed holds up no watch.
func TestSenderOfNothing(t *testing.T) {
	var said bytes.Buffer
	if s := OpenSender(func(string) string { return "" }, into(&said), nil); s != nil || said.Len() > 0 {
		t.Errorf("%v, said %q", s, said.String())
	}
	grpc := func(name string) string {
		return map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a:4317",
			"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}[name]
	}
	var none *Sender
	none.Close()
	none.Complain()
	if s := OpenSender(grpc, into(&said), nil); s != nil ||
		!strings.Contains(said.String(), "OTEL_METRICS_EXPORTER=none") {
		t.Errorf("%v, said %q", s, said.String())
	}
}

// TestSenderEndsInTime: whoever takes an export and never answers holds the end no longer than a scrape may.
func TestSenderEndsInTime(t *testing.T) {
	silent := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer silent.Close()
	var said bytes.Buffer
	getenv := func(name string) string {
		return map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://" + silent.Addr().String(),
			"OTEL_METRIC_EXPORT_INTERVAL": "1"}[name]
	}
	s := OpenSender(getenv, into(&said), New("1"))
	must.Get(silent.Accept())(t) // an export is under way
	began := time.Now()
	s.Close()
	if took := time.Since(began); took > s.target.Timeout/2 || !strings.Contains(said.String(), "were not sent") {
		t.Errorf("ended after %v, said %q", took, said.String())
	}
}

// into keeps what is said, a line each.
func into(b *bytes.Buffer) func(string) { return func(text string) { b.WriteString(text + "\n") } }

// take waits for an export, no longer than it takes to see that none comes.
func take(t *testing.T, sent chan string, s *Sender) string {
	t.Helper()
	select {
	case got := <-sent:
		return got
	case <-time.After(10 * time.Second):
		t.Fatal(<-s.refused)
		return ""
	}
}
