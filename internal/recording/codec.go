package recording

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// The file form: one JSON object a line, distinguished by its only or first key.
//
//	{"header":{…}}                          first line; repeated before the end where it was amended
//	{"series":[id,"metric","entity"]}       names a series before its first reading
//	{"t":1.234567,"v":[[id,value],…]}       one tick
//	{"event":{"t":…,"kind":…,"entity":…,"attrs":{…}}}
//	{"unseen":{"signal":…,"entity":…,"reason":…,"cure":…}}
//	{"thinned":{"one_of":…}}                of what came before, every second reading counts no more (see room.go)
//	{"end":{…}}                             last line; missing where the recording was cut off
//
// Times never run backwards within a series; across series they may, where the last readings of an ended process come
// late. A last line without a newline is a torn write and is ignored.

// Errors of reading.
var (
	ErrNotRecording = errors.New("not a pipetune recording")
	ErrNewer        = errors.New("made by a newer pipetune")
	ErrDamaged      = errors.New("damaged recording")
)

// Writer writes a recording line by line.
type Writer struct {
	w       io.Writer
	buf     bytes.Buffer
	written time.Duration // the tick of the last Write
}

// How long ticks are kept before they are handed over, and how many bytes of them at most: a write of each tick alone
// costs more than all of its encoding.
const (
	pieceTime  = time.Second
	pieceBytes = 64 << 10
)

// NewWriter returns a Writer on w, which gets whole lines in each Write, those of a tick with others of the same
// second.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Header writes the header line.
func (w *Writer) Header(h Header) error { return w.line("header", h) }

func (w *Writer) line(name string, v any) error {
	if err := writeLine(&w.buf, name, v); err != nil {
		return err
	}
	return w.handOver()
}

// handOver writes what was kept.
func (w *Writer) handOver() error {
	if w.buf.Len() == 0 {
		return nil
	}
	_, err := w.w.Write(w.buf.Bytes())
	w.buf.Reset()
	if err != nil {
		return fmt.Errorf("writing recording: %w", err)
	}
	return nil
}

func (w *Writer) end(e End) error {
	return w.line("end", endLine{e.At.Seconds(), e})
}

func (w *Writer) flush(t *tickBuffer, at time.Duration) error {
	w.buf.Write(t.defs.Bytes())
	w.buf.Write(t.late.Bytes())
	if t.vals.Len() > 0 {
		w.buf.WriteString(`{"t":`)
		w.buf.Write(appendSeconds(w.buf.AvailableBuffer(), at))
		w.buf.WriteString(`,"v":[`)
		w.buf.Write(t.vals.Bytes())
		w.buf.WriteString("]}\n")
	}
	w.buf.Write(t.tail.Bytes())
	t.reset()
	if at-w.written < pieceTime && w.buf.Len() < pieceBytes {
		return nil
	}
	w.written = at
	return w.handOver()
}

// tickBuffer holds one tick's lines until they are flushed.
type tickBuffer struct{ defs, late, vals, tail bytes.Buffer }

func (t *tickBuffer) reset() { t.defs.Reset(); t.late.Reset(); t.vals.Reset(); t.tail.Reset() }

func (t *tickBuffer) value(id int, v float64) {
	if t.vals.Len() > 0 {
		t.vals.WriteByte(',')
	}
	t.vals.Write(appendReading(t.vals.AvailableBuffer(), id, v))
}

// earlier writes a reading of a time before the tick's as a line of its own.
func (t *tickBuffer) earlier(id int, p Point) {
	b := appendSeconds(append(t.late.AvailableBuffer(), `{"t":`...), p.At)
	b = appendReading(append(b, `,"v":[`...), id, p.Value)
	t.late.Write(append(b, "]}\n"...))
}

// plainLine is writeLine for strings, numbers and maps of strings, which always encode.
func plainLine(b *bytes.Buffer, name string, v any) {
	if err := writeLine(b, name, v); err != nil {
		panic("recording: " + err.Error())
	}
}

// writeLine appends v, under its name, as a line.
func writeLine(b *bytes.Buffer, name string, v any) error {
	line, err := json.Marshal(map[string]any{name: v})
	if err != nil {
		return fmt.Errorf("encoding %s: %w", name, err)
	}
	b.Write(append(line, '\n'))
	return nil
}

func appendSeconds(b []byte, d time.Duration) []byte {
	return strconv.AppendFloat(b, d.Seconds(), 'f', 6, 64)
}

func appendReading(b []byte, id int, v float64) []byte {
	b = strconv.AppendInt(append(b, '['), int64(id), 10)
	return append(strconv.AppendFloat(append(b, ','), v, 'g', -1, 64), ']')
}

type (
	eventLine struct {
		At float64 `json:"t"`
		Event
	}
	thinnedLine struct {
		OneOf int `json:"one_of"`
	}
	endLine struct {
		At float64 `json:"t"`
		End
	}
	anyLine struct {
		Header *Header           `json:"header"`
		Series []json.RawMessage `json:"series"`
		At     *float64          `json:"t"`
		Values readings          `json:"v"`
		Event  *eventLine        `json:"event"`
		Unseen *Unseen           `json:"unseen"`
		Thin   *thinnedLine      `json:"thinned"`
		End    *endLine          `json:"end"`
	}
)

// readings are those of a tick: the number of a series, and the value.
type readings [][2]float64

// UnmarshalJSON reads [[id,value],…] in a quarter of the time that reflection takes: recordings are nearly all of it.
func (r *readings) UnmarshalJSON(b []byte) error {
	inner := bytes.Trim(b, "[] \t\r\n")
	if len(inner) == 0 || string(b) == "null" {
		return nil
	}
	for pair := range bytes.SplitSeq(inner, []byte("]")) {
		id, value, _ := bytes.Cut(bytes.TrimLeft(pair, "[, \t\r\n"), []byte(","))
		i, err := strconv.ParseFloat(string(bytes.TrimSpace(id)), 64)
		v, ill := strconv.ParseFloat(string(bytes.TrimSpace(value)), 64)
		if err != nil || ill != nil {
			return fmt.Errorf("%.40q is no reading", pair)
		}
		*r = append(*r, [2]float64{i, v})
	}
	return nil
}

// Read reads a recording. A recording that was cut off (no end line, or a torn last line) is returned with a nil End
// and no error. Errors wrap ErrNotRecording, ErrNewer or ErrDamaged, and name the line.
func Read(r io.Reader) (*Recording, error) { return read(r, held{most: maxHeld}) }

func read(r io.Reader, h held) (*Recording, error) {
	br := bufio.NewReaderSize(r, 64<<10)
	rec := &Recording{}
	room := thinner{bound: maxReadings / 4 * 5} // of a file that does not say where to thin
	for n := 1; ; n++ {
		line, err := readLine(br)
		if errors.Is(err, io.EOF) {
			if n == 1 || rec.Header.Schema == "" {
				return nil, fmt.Errorf("line 1: %w: no header", ErrNotRecording)
			}
			return rec, nil // a torn last line carries no newline and is dropped
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		var l anyLine
		if err := json.Unmarshal(line, &l); err != nil {
			if n == 1 {
				return nil, fmt.Errorf("line 1: %w", ErrNotRecording)
			}
			return nil, fmt.Errorf("line %d: %w: %v", n, ErrDamaged, err)
		}
		if err := rec.take(l, n == 1, &h); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		room.take(rec, l)
	}
}

func readLine(br *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := br.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > maxLine {
			return nil, fmt.Errorf("%w: longer than %d bytes", ErrDamaged, maxLine)
		}
		switch {
		case err == nil:
			return line, nil
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		default:
			return nil, err
		}
	}
}

func (rec *Recording) take(l anyLine, first bool, h *held) error {
	if first && (l.Header == nil || l.Header.Schema != Schema) {
		return fmt.Errorf("%w: no header", ErrNotRecording)
	}
	switch {
	case l.Header != nil:
		if major(l.Header.SchemaVersion) > major(SchemaVersion) {
			return fmt.Errorf("%w: recording schema %.20q, this pipetune reads up to %s", ErrNewer,
				l.Header.SchemaVersion, SchemaVersion)
		}
		rec.Header = *l.Header
	case l.Series != nil:
		return rec.define(l.Series, h)
	case l.At != nil:
		at, err := seconds(*l.At)
		if err != nil {
			return err
		}
		if h.points += len(l.Values); h.points > maxPoints {
			return fmt.Errorf("%w: more than %d readings", ErrDamaged, maxPoints)
		}
		for _, v := range l.Values {
			id := int(v[0])
			if id < 0 || id >= len(rec.Series) {
				return fmt.Errorf("%w: series %d is not named", ErrDamaged, id)
			}
			s := &rec.Series[id]
			if n := len(s.Points); n > 0 && at < s.Points[n-1].At {
				return fmt.Errorf("%w: time runs backwards", ErrDamaged)
			}
			s.Points = append(s.Points, Point{At: at, Value: v[1]})
		}
	case l.Event != nil:
		at, err := seconds(l.Event.At)
		if err != nil {
			return err
		}
		l.Event.Event.At = at
		e, err := h.event(l.Event.Event)
		if err != nil {
			return err
		}
		rec.Events = append(rec.Events, e)
	case l.Unseen != nil:
		if len(rec.Unseen) >= maxUnseen {
			return fmt.Errorf("%w: more than %d notes of what could not be read", ErrDamaged, maxUnseen)
		}
		u := *l.Unseen
		rec.Unseen = append(rec.Unseen, u)
		return h.take(costUnseen + len(u.Signal) + len(u.Entity) + len(u.Reason) + len(u.Cure))
	case l.End != nil:
		at, err := seconds(l.End.At)
		if err != nil {
			return err
		}
		l.End.End.At = at
		rec.End = &l.End.End
	}
	return nil // lines of kinds that a later minor version added are passed over
}

func (rec *Recording) define(f []json.RawMessage, h *held) error {
	if len(f) != 3 {
		return fmt.Errorf("%w: a series line has three fields", ErrDamaged)
	}
	var id int
	var s Series
	err := errors.Join(json.Unmarshal(f[0], &id), json.Unmarshal(f[1], &s.Metric), json.Unmarshal(f[2], &s.Entity))
	if err != nil {
		return fmt.Errorf("%w: %v", ErrDamaged, err)
	}
	if id != len(rec.Series) || id >= maxSeries {
		return fmt.Errorf("%w: series %d out of order", ErrDamaged, id)
	}
	s.Metric = h.word(s.Metric)
	rec.Series = append(rec.Series, s)
	return h.take(costSeries + len(s.Entity))
}

func seconds(s float64) (time.Duration, error) {
	const century = 100 * 365 * 24 * 3600
	if !(s >= 0 && s < century) {
		return 0, fmt.Errorf("%w: time %g s is out of range", ErrDamaged, s)
	}
	return time.Duration(s * float64(time.Second)).Round(time.Microsecond), nil
}

func major(version string) int {
	head, _, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(head)
	if err != nil {
		return 1 << 30 // unreadable counts as newer: refuse rather than guess
	}
	return n
}
