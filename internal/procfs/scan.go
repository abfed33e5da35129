package procfs

import (
	"bytes"
	"math"
	"strconv"
	"strings"
)

// The functions here work on bytes without allocating, because the hot files
// are parsed up to 100 times a second for every worker: a conversion to a string
// that does not escape makes no garbage.

// parseCount reads a decimal number in 0..2^63-1: every byte count, tick count
// and process number of the kernel fits, so a larger one is damage, and so is a sign.
func parseCount(b []byte) (int64, bool) {
	if len(b) == 0 || b[0] < '0' || b[0] > '9' {
		return 0, false // without the error that ParseUint would make: stat has columns of -1
	}
	n, err := strconv.ParseUint(string(b), 10, 63)
	return int64(n), err == nil
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
	n, err := strconv.ParseUint(strings.TrimPrefix(string(b), "0x"), 16, 64)
	return n, err == nil
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

// oneLine returns the single line of a one-line file.
func oneLine(b []byte) ([]byte, bool) {
	line, rest, whole := bytes.Cut(b, newline)
	return line, whole && len(rest) == 0
}

// eachLine calls visit for each line of a file; visit returns false for one that makes no sense. Every file parsed with
// it is written by the kernel with a final newline, so that one without has lost its tail, and maybe half a number.
func eachLine(b []byte, file string, visit func(line []byte) bool) error {
	for n := 1; len(b) > 0; n++ {
		line, rest, whole := bytes.Cut(b, newline)
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

var colon, newline = []byte{':'}, []byte{'\n'}

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

// TicksPerSecond is USER_HZ: the unit of ID.Start and of every clock-tick field
// of /proc. It is part of the user ABI and 100 on each architecture Go runs
// Linux on (proc(5), sysconf(_SC_CLK_TCK)).
const TicksPerSecond = 100

func ticksToSeconds(t int64) float64 { return float64(t) / TicksPerSecond }
