package procfs

import (
	"bytes"
	"math"
	"strconv"
)

// The functions here work on bytes without allocating, because the hot files
// are parsed up to 100 times a second for every worker.

// parseUint reads an unsigned decimal number that fills b. It refuses an empty
// field, a sign, any other byte and a number above 2^64-1.
func parseUint(b []byte) (uint64, bool) {
	if len(b) == 0 || len(b) > 20 {
		return 0, false
	}
	var n uint64
	for _, c := range b {
		d := uint64(c - '0')
		if d > 9 {
			return 0, false
		}
		if n > (math.MaxUint64-d)/10 {
			return 0, false
		}
		n = n*10 + d
	}
	return n, true
}

// parseCount reads a decimal number in 0..2^63-1: every byte count, tick count
// and process number of the kernel fits, so a larger one is damage.
func parseCount(b []byte) (int64, bool) {
	n, ok := parseUint(b)
	if !ok || n > math.MaxInt64 {
		return 0, false
	}
	return int64(n), true
}

// parseInt reads a decimal number with an optional minus sign.
func parseInt(b []byte) (int64, bool) {
	if len(b) > 1 && b[0] == '-' {
		n, ok := parseCount(b[1:])
		return -n, ok
	}
	return parseCount(b)
}

// parseCounts fills v with the counts that line begins with; it reports whether there are as many.
func parseCounts(line []byte, v []int64) (ok bool) {
	var field []byte
	for i := range v {
		field, line = nextField(line)
		if v[i], ok = parseCount(field); !ok {
			return false
		}
	}
	return true
}

// parseHex reads an unsigned hexadecimal number with or without 0x.
func parseHex(b []byte) (uint64, bool) {
	if len(b) > 2 && b[0] == '0' && b[1] == 'x' {
		b = b[2:]
	}
	if len(b) == 0 || len(b) > 16 {
		return 0, false
	}
	var n uint64
	for _, c := range b {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		n = n<<4 | uint64(c)
	}
	return n, true
}

// nextField returns the first run of bytes that are neither space nor tab, and
// what follows it; the field is empty at the end of b.
func nextField(b []byte) (field, rest []byte) {
	i := 0
	for i < len(b) && (b[i] == ' ' || b[i] == '\t') {
		i++
	}
	j := i
	for j < len(b) && b[j] != ' ' && b[j] != '\t' {
		j++
	}
	return b[i:j], b[j:]
}

// nextLine returns the first line without its newline and what follows it; false where it has none.
func nextLine(b []byte) (line, rest []byte, whole bool) {
	i := bytes.IndexByte(b, '\n')
	if i < 0 {
		return b, nil, false
	}
	return b[:i], b[i+1:], true
}

// oneLine returns the single line of a one-line file.
func oneLine(b []byte) ([]byte, bool) {
	line, rest, whole := nextLine(b)
	return line, whole && len(rest) == 0
}

// eachLine calls visit for each line of a file; visit returns false for one that makes no sense. Every file parsed with
// it is written by the kernel with a final newline, so that one without has lost its tail, and maybe half a number.
func eachLine(b []byte, file string, visit func(line []byte) bool) error {
	for n := 1; len(b) > 0; n++ {
		line, rest, whole := nextLine(b)
		if !whole {
			return malformed(file, "cut")
		}
		if !visit(line) {
			return malformed(file, "line "+strconv.Itoa(n))
		}
		b = rest
	}
	return nil
}

// eachKeyed is eachLine for lines of a key, perhaps with a colon, and what follows it; a file without lines is
// malformed.
func eachKeyed(b []byte, file string, visit func(key, value []byte) bool) error {
	if len(b) == 0 {
		return malformed(file, "empty")
	}
	return eachLine(b, file, func(line []byte) bool {
		key, value := nextField(line)
		return visit(bytes.TrimSuffix(key, colon), value)
	})
}

var colon = []byte{':'}

// emptied forgets what was parsed of a file that turned out to be malformed.
func emptied[T any](v *T, err error) error {
	if err != nil {
		*v = *new(T)
	}
	return err
}

// setCount stores the count that value begins with, in units of unit; it reports whether there is one.
func setCount(dst *Optional[int64], value []byte, unit int64) bool {
	field, _ := nextField(value)
	n, ok := parseCount(field)
	if !ok || n > math.MaxInt64/unit {
		return false
	}
	*dst = Some(n * unit)
	return true
}

// setKiB stores "N kB" as bytes; the kernel's kB are 1024 bytes.
func setKiB(dst *Optional[int64], value []byte) bool {
	_, unit := nextField(value)
	unit, _ = nextField(unit)
	return string(unit) == "kB" && setCount(dst, value, 1<<10)
}

// hasPrefix is bytes.HasPrefix for a string prefix, without converting.
func hasPrefix(b []byte, prefix string) bool {
	return len(b) >= len(prefix) && string(b[:len(prefix)]) == prefix
}

// TicksPerSecond is USER_HZ: the unit of ID.Start and of every clock-tick field
// of /proc. It is part of the user ABI and 100 on each architecture Go runs
// Linux on (proc(5), sysconf(_SC_CLK_TCK)).
const TicksPerSecond = 100

func ticksToSeconds(t int64) float64 { return float64(t) / TicksPerSecond }
