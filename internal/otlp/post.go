package otlp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"strconv"
	"strings"
)

// mostAnswered bounds what is read of an answer, which holds a message at most.
const mostAnswered = 64 << 10

// Post sends one export. An error says what the collector answered, or why there is none; with the next export nothing
// is lost, as what adds up is sent as its sum since the watch began.
func (t *Target) Post(ctx context.Context, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, t.Timeout)
	defer cancel()
	port := t.Endpoint.Port()
	if port == "" {
		port = "80"
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(t.Endpoint.Hostname(), port))
	if err != nil {
		return err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() }) // ends what waits for it
	defer stop()
	if _, err := conn.Write(t.request(body)); err != nil {
		return errors.Join(ctx.Err(), err)
	}
	status, answer, err := answered(conn)
	if err != nil {
		return errors.Join(ctx.Err(), err)
	}
	if status < 200 || status > 299 {
		return fmt.Errorf("HTTP %d%s", status, message(answer))
	}
	return rejected(answer)
}

func (t *Target) request(body []byte) []byte {
	path := t.Endpoint.RequestURI()
	if !strings.HasPrefix(path, "/") { // as of an address without a path that one was joined to
		path = "/" + path
	}
	b := fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: pipetune\r\nContent-Type: application/json\r\n"+
		"Content-Length: %d\r\nConnection: close\r\n", path, t.Endpoint.Host, len(body))
	if user := t.Endpoint.User; user != nil {
		password, _ := user.Password()
		b = fmt.Appendf(b, "Authorization: Basic %s\r\n", base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+
			password)))
	}
	for _, h := range t.Headers {
		b = fmt.Appendf(b, "%s: %s\r\n", h.Name, h.Value)
	}
	return append(append(b, "\r\n"...), body...)
}

// answered reads as much of HTTP/1.1 (RFC 9112) as an answer takes whose connection ends behind it.
func answered(from io.Reader) (status int, body []byte, err error) {
	r := bufio.NewReader(io.LimitReader(from, mostAnswered))
	head := textproto.NewReader(r)
	line, err := head.ReadLine()
	if err != nil {
		return 0, nil, fmt.Errorf("no answer of HTTP: %w", err)
	}
	version, rest, _ := strings.Cut(line, " ")
	code, _, _ := strings.Cut(rest, " ")
	if status, err = strconv.Atoi(code); err != nil || !strings.HasPrefix(version, "HTTP/1.") {
		return 0, nil, fmt.Errorf("no answer of HTTP/1.1: %.40q", line)
	}
	header, err := head.ReadMIMEHeader()
	if err != nil {
		return 0, nil, fmt.Errorf("the headers of an answer of HTTP: %w", err)
	}
	text := header.Get("Content-Length")
	length, err := strconv.Atoi(text)
	switch {
	case text != "" && (err != nil || length < 0):
		return 0, nil, fmt.Errorf("an answer of HTTP with a Content-Length of %.20q", text)
	case strings.EqualFold(header.Get("Transfer-Encoding"), "chunked"):
		return status, unchunked(r), nil
	case text == "":
		length = mostAnswered
	}
	body, _ = io.ReadAll(io.LimitReader(r, int64(length))) // what came before the end says enough
	return status, body, nil
}

// unchunked is as much of a chunked body as came.
func unchunked(r *bufio.Reader) (body []byte) {
	for {
		line, err := r.ReadString('\n')
		size, _, _ := strings.Cut(strings.TrimSpace(line), ";")
		n, bad := strconv.ParseUint(size, 16, 31)
		if err != nil || bad != nil || n == 0 {
			return body
		}
		chunk := make([]byte, min(n, mostAnswered))
		read, err := io.ReadFull(r, chunk)
		if body = append(body, chunk[:read]...); err != nil {
			return body
		}
		if _, err := r.ReadString('\n'); err != nil {
			return body
		}
	}
}

// rejected says what a collector did not take of an export that it accepted.
func rejected(answer []byte) error {
	var a struct {
		PartialSuccess struct {
			RejectedDataPoints json.RawMessage `json:"rejectedDataPoints"`
			ErrorMessage       string          `json:"errorMessage"`
		} `json:"partialSuccess"`
	}
	if json.Unmarshal(answer, &a) != nil {
		return nil // accepted it is, whatever is said of it
	}
	n := strings.Trim(string(a.PartialSuccess.RejectedDataPoints), `"`)
	if n == "" || n == "0" || n == "null" {
		return nil
	}
	return fmt.Errorf("%s values were refused: %s", n, a.PartialSuccess.ErrorMessage)
}

// message is what an answer says of an error: a google.rpc.Status in JSON, or text.
func message(answer []byte) string {
	var status struct{ Message string }
	text := string(bytes.TrimSpace(answer))
	if json.Unmarshal(answer, &status) == nil && status.Message != "" {
		text = status.Message
	}
	if text == "" {
		return ""
	}
	return fmt.Sprintf(": %.200s", text)
}
