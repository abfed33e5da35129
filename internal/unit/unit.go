// Package unit turns base units into text a person reads: 1.42 GiB/s, 12.3 ms, 37 %. It is the only place where those
// units exist.
//
// Every function gives three significant digits at most, and "–" for a number that is not finite.
package unit

import (
	"math"
	"strconv"
	"strings"

	"github.com/pipetune/pipetune/internal/stat"
)

const none = "–"

// Format writes value in the unit of a report's number ("s", "bytes", "ratio", "1/s", …). An unknown unit is appended
// as it is.
func Format(value float64, unit string) string {
	switch unit {
	case "s":
		return Seconds(value)
	case "bytes":
		return Bytes(value)
	case "bytes/s":
		return Bytes(value) + "/s"
	case "ratio":
		return Percent(value)
	case "1/s":
		return Number(value) + " /s"
	case "Hz":
		return scaled(value, 1000, "Hz", "kHz", "MHz", "GHz")
	case "degC":
		return Number(value) + " °C"
	case "1", "bitmask", "":
		return Number(value)
	}
	return Number(value) + " " + unit
}

// Percent writes a ratio: 0.314 → "31 %", 0.0042 → "0.4 %".
func Percent(ratio float64) string {
	p := ratio * 100
	switch {
	case !stat.Finite(p):
		return none
	case p != 0 && math.Abs(p) < 9.95:
		return strings.TrimSuffix(strconv.FormatFloat(p, 'f', 1, 64), ".0") + " %"
	}
	return strconv.FormatFloat(p, 'f', 0, 64) + " %"
}

// Seconds writes a duration given in seconds: 0.0788 → "78.8 ms".
func Seconds(s float64) string {
	a := math.Abs(s)
	switch {
	case !stat.Finite(s):
		return none
	case a >= 5400:
		return Number(s/3600) + " h"
	case a >= 120:
		return Number(s/60) + " min"
	case a >= 0.9995 || a == 0:
		return Number(s) + " s"
	case a >= 0.0009995:
		return Number(s*1e3) + " ms"
	}
	return Number(s*1e6) + " µs"
}

// Bytes writes a size with binary prefixes: 1536 → "1.5 KiB".
func Bytes(b float64) string { return scaled(b, 1024, "B", "KiB", "MiB", "GiB", "TiB", "PiB") }

func scaled(v, base float64, units ...string) string {
	if !stat.Finite(v) {
		return none
	}
	i := 0
	for math.Abs(v) >= base*0.9995 && i < len(units)-1 {
		v /= base
		i++
	}
	return Number(v) + " " + units[i]
}

// Number writes three significant digits, and whole numbers from 100 on with thousands apart: 2613.4 → "2,613".
func Number(x float64) string {
	a := math.Abs(x)
	switch {
	case !stat.Finite(x):
		return none
	case a >= 99.95:
		return thousands(strconv.FormatFloat(x, 'f', 0, 64))
	case a >= 9.995:
		return trim(strconv.FormatFloat(x, 'f', 1, 64))
	case a >= 0.0005:
		return trim(strconv.FormatFloat(x, 'f', decimals(a), 64))
	case a == 0:
		return "0"
	}
	return strconv.FormatFloat(x, 'g', 2, 64)
}

func decimals(a float64) int {
	if a >= 0.9995 {
		return 2
	}
	return 3
}

func trim(s string) string { return strings.TrimSuffix(strings.TrimRight(s, "0"), ".") }

func thousands(s string) string {
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Count writes how many there are of a thing: "1 file", "2,613 files".
func Count(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Number(float64(n)) + " " + many
}
