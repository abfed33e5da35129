package exporter

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/textproto"
	"strings"
	"sync"
	"time"
)

// Server answers who asks for metrics, in as much of HTTP/1.1 (RFC 9112) as that takes: one GET or HEAD, one
// answer, and the end of the connection. net/http would do it too, and bring TLS, HTTP/2 and its own clients along: 4
// MB of a program whose every child maps them.
type Server struct {
	listener net.Listener
	text     func(io.Writer) error
	local    bool // this machine alone is to be answered
	asking   sync.WaitGroup
}

// NewServer answers with what e has, at listener. One that other machines cannot reach answers no web page either that
// a browser here was lured to: neither by an Origin, nor by a Host that names this machine by another's name (DNS
// rebinding).
func NewServer(listener net.Listener, e *Exporter) *Server {
	address, tcp := listener.Addr().(*net.TCPAddr)
	return &Server{listener: listener, text: e.Text, local: tcp && address.IP.IsLoopback()}
}

const (
	// askingAtOnce bounds the connections, requestPatience how long one may take to ask, and askPatience how long in
	// all.
	askingAtOnce    = 16
	requestPatience = 5 * time.Second
	askPatience     = 10 * time.Second
	// longestRequest is the request with its headers.
	longestRequest = 8 << 10
	plainText      = "text/plain; charset=utf-8"
	// acceptAgain is the time until it is tried again to take a connection.
	acceptAgain = time.Second
	// endPatience is how long the end waits for answers under way.
	endPatience = time.Second
)

// Serve answers until Close.
func (s *Server) Serve() {
	room := make(chan struct{}, askingAtOnce)
	for {
		room <- struct{}{}
		conn, err := s.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // too many open files, say
			<-room
			time.Sleep(acceptAgain)
			continue
		}
		s.asking.Go(func() {
			defer func() { <-room }()
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(askPatience)) // of a connection that is gone, the next call says so
			_ = conn.SetReadDeadline(time.Now().Add(requestPatience))
			_, _ = conn.Write(s.answer(conn)) // who asked is gone
		})
	}
}

func (s *Server) answer(from io.Reader) []byte {
	r := textproto.NewReader(bufio.NewReader(io.LimitReader(from, longestRequest)))
	line, err := r.ReadLine()
	if err != nil {
		return nil // nothing was asked
	}
	request := strings.Fields(line)
	headers, err := r.ReadMIMEHeader()
	if err != nil || len(request) != 3 || !strings.HasPrefix(request[2], "HTTP/1.") {
		return response("400 Bad Request", plainText, "not a request of HTTP/1.1\n", false)
	}
	if hosts := headers["Host"]; s.local && (len(hosts) != 1 || !namesHere(hosts[0]) || headers["Origin"] != nil) {
		return response("403 Forbidden", plainText,
			"ask for localhost, 127.0.0.1 or [::1]: a web page elsewhere is not answered\n", false)
	}
	head := request[0] == "HEAD"
	if request[0] != "GET" && !head {
		return response("405 Method Not Allowed\r\nAllow: GET, HEAD", plainText, "only GET\n", false)
	}
	switch path, _, _ := strings.Cut(request[1], "?"); path {
	case "/":
		return response("200 OK", plainText, "pipetune: metrics of a training job are at /metrics\n", head)
	case "/metrics":
		var b bytes.Buffer
		if err := s.text(&b); err != nil {
			return response("500 Internal Server Error", plainText, err.Error()+"\n", head)
		}
		return response("200 OK", ContentType, b.String(), head)
	}
	return response("404 Not Found", plainText, "metrics are at /metrics\n", head)
}

// namesHere reports that the Host of a request names this machine, by localhost or a loopback address, which no name
// server can give to another; at any port, as one may be forwarded here.
func namesHere(host string) bool {
	name := host
	if bare, _, err := net.SplitHostPort(host); err == nil {
		name = bare
	}
	address, err := netip.ParseAddr(strings.Trim(name, "[]"))
	return name == "localhost" || err == nil && address.IsLoopback() && !address.Is4In6()
}

// response is a whole answer; head leaves the body out.
func response(status, contentType, body string, head bool) []byte {
	b := fmt.Appendf(nil, "HTTP/1.1 %s\r\nDate: %s\r\nContent-Type: %s\r\nContent-Length: %d\r\nConnection: close\r\n"+
		"\r\n", status, time.Now().UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT"), contentType, len(body))
	if !head {
		b = append(b, body...)
	}
	return b
}

// Close ends it, with what is being asked of it.
func (s *Server) Close() {
	_ = s.listener.Close() // it ends the wait for who asks next
	ended := make(chan struct{})
	go func() {
		s.asking.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(endPatience): // nobody is waited for any longer
	}
}
