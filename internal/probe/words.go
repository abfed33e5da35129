package probe

import (
	"fmt"
	"regexp"
)

// several writes a number with the word for what is counted: "1 process", "2 processes".
func several(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// inUnits writes bytes in the largest unit of which there is at least one, with a decimal where that is needed.
func inUnits(bytes int64) string {
	for _, u := range []struct {
		name  string
		bytes int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		switch {
		case bytes < u.bytes:
		case bytes%u.bytes == 0:
			return fmt.Sprintf("%d %s", bytes/u.bytes, u.name)
		default:
			return fmt.Sprintf("%.1f %s", float64(bytes)/float64(u.bytes), u.name)
		}
	}
	return several(int(bytes), "byte", "bytes")
}

var numbers = regexp.MustCompile(`[0-9]+`)

// wording is what a message says without its figures: two pictures cut at different bytes are damaged alike.
func wording(text string) string { return numbers.ReplaceAllString(text, "#") }
