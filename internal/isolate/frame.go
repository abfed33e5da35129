package isolate

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// The wire: JSON values, one per line, requests on descriptor 3 and answers on descriptor 4 of the child. The first
// line each way is the greeting.

const (
	requestDescriptor = 3
	answerDescriptor  = 4

	// maxLine bounds a line in either direction: one answer is a folder of some thousand names or the readings of some
	// dozen GPUs.
	maxLine = 4 * mib
)

type greeting struct {
	Limits      Limits `json:"limits"`
	UnixSockets bool   `json:"unix_sockets,omitempty"`
}

type request struct {
	ID   int             `json:"id"`
	Body json.RawMessage `json:"body"`
}

type answer struct {
	ID    int             `json:"id"`
	Body  json.RawMessage `json:"body,omitempty"`
	Error *RemoteError    `json:"error,omitempty"`
}

var errLongLine = errors.New("a line is longer than allowed")

// readLine reads up to the next line feed, which it cuts off. It never holds more than limit bytes. With an error it
// returns what it had read of the line.
func readLine(in *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		piece, err := in.ReadSlice('\n')
		if len(line)+len(piece) > limit {
			return line, errLongLine
		}
		line = append(line, piece...)
		switch {
		case err == nil:
			return line[:len(line)-1], nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(line) > 0:
			return line, io.ErrUnexpectedEOF
		default:
			return line, err
		}
	}
}

func writeLine(out io.Writer, value any) error {
	line, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encoding: %w", err)
	}
	_, err = out.Write(append(line, '\n'))
	return err
}
