package otlp

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/must"
)

func target(t *testing.T, address string) *Target {
	t.Helper()
	return &Target{Endpoint: must.Get(url.Parse(address))(t), Timeout: 5 * time.Second,
		Headers: []Attribute{{"X-Key", "a b"}}}
}

// TestPost: Go's own server takes what is sent, and each answer of it is understood.
func TestPost(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		answer string
		flush  bool // the answer is chunked
		want   string
	}{
		"taken":                {200, "{}", false, ""},
		"taken, without words": {200, "", false, ""},
		"taken, in chunks":     {200, `{"partialSuccess":{}}`, true, ""},
		"some refused": {200, `{"partialSuccess":{"rejectedDataPoints":"3","errorMessage":"too old"}}`, false,
			"3 values were refused: too old"},
		"some refused, chunks": {200, `{"partialSuccess":{"rejectedDataPoints":3,"errorMessage":"too old"}}`, true,
			"3 values were refused: too old"},
		"refused": {400, `{"code":3,"message":"no such field"}`, false, "HTTP 400: no such field"},
		"busy":    {503, "", false, "HTTP 503"},
		"moved":   {301, "elsewhere", false, "HTTP 301: elsewhere"},
	} {
		t.Run(name, func(t *testing.T) {
			var asked *http.Request
			var body []byte
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked, body = r, must.Get(io.ReadAll(r.Body))(t)
				w.WriteHeader(c.status)
				if c.flush {
					w.(http.Flusher).Flush()
				}
				must.Get(io.WriteString(w, c.answer))(t)
			}))
			defer s.Close()
			user := strings.Replace(s.URL, "http://", "http://u:p@", 1)
			got := ""
			to := target(t, user+"?x=y")
			to.Endpoint = to.Endpoint.JoinPath(metricsPath)
			if err := to.Post(t.Context(), []byte(`{"a":1}`)); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			name, password, _ := asked.BasicAuth()
			if asked.Method != "POST" || asked.URL.String() != "/v1/metrics?x=y" || string(body) != `{"a":1}` ||
				asked.Header.Get("Content-Type") != "application/json" || asked.Header.Get("X-Key") != "a b" ||
				name != "u" || password != "p" {
				t.Errorf("%s %s, %v, %q", asked.Method, asked.URL, asked.Header, body)
			}
		})
	}
}

// TestPostToNoCollector: whoever listens there, or nobody, an export ends in time and says what was met.
func TestPostToNoCollector(t *testing.T) {
	for name, c := range map[string]struct{ answers, want string }{
		"nothing":          {"", "no answer of HTTP"},
		"no HTTP":          {"220 mail.example ESMTP\r\n", "no answer of HTTP/1.1"},
		"gRPC":             {"\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x05\n", "no answer of HTTP/1.1"},
		"cut":              {"HTTP/1.1 200 OK\r\nA: b\r\n", "headers of an answer"},
		"no header":        {"HTTP/1.1 200 OK\r\nwhat it says\r\n\r\n", "headers of an answer"},
		"endless headers":  {"HTTP/1.1 200 OK\r\n" + strings.Repeat("A: b\r\n", 20000), "headers of an answer"},
		"a length of none": {"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "Content-Length"},
		"a length of more": {"HTTP/1.1 500 No\r\nContent-Length: 9999999999\r\n\r\nx", "HTTP 500: x"},
		"a chunk of more":  {"HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n7fffffff\r\nx", "HTTP 500: x"},
	} {
		t.Run(name, func(t *testing.T) {
			l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
			defer l.Close()
			go func() {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				defer conn.Close()
				_, _ = conn.Read(make([]byte, 1<<10)) // a stranger reads what it likes
				_, _ = io.WriteString(conn, c.answers)
			}()
			err := target(t, "http://"+l.Addr().String()).Post(t.Context(), []byte("{}"))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t) // who never answers
	defer l.Close()
	silent := target(t, "http://"+l.Addr().String())
	silent.Timeout = 50 * time.Millisecond
	if err := silent.Post(t.Context(), []byte("{}")); err == nil || !strings.Contains(err.Error(), "deadline") {
		t.Errorf("%v, want the deadline", err)
	}
}
