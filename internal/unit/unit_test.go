package unit

import (
	"math"
	"testing"
)

func TestFormat(t *testing.T) {
	for _, c := range []struct {
		value float64
		unit  string
		want  string
	}{
		{0.0788, "s", "78.8 ms"}, {0, "s", "0 s"}, {12.34, "s", "12.3 s"}, {0.0000025, "s", "2.5 µs"},
		{690, "s", "11.5 min"}, {72000, "s", "20 h"},
		{0.31, "ratio", "31 %"}, {0.0042, "ratio", "0.4 %"}, {0, "ratio", "0 %"}, {1, "ratio", "100 %"},
		{0.0996, "ratio", "10 %"},
		{1536, "bytes", "1.5 KiB"}, {0, "bytes", "0 B"}, {1 << 40, "bytes", "1 TiB"}, {1023.9, "bytes", "1 KiB"},
		{1.42 * (1 << 30), "bytes/s", "1.42 GiB/s"},
		{812.4, "1/s", "812 /s"}, {2613.4, "1/s", "2,613 /s"}, {-1234567, "1", "-1,234,567"},
		{-123456, "1", "-123,456"}, {0.5, "1/s", "0.5 /s"},
		{99.96, "1", "100"}, {10, "1", "10"},
		{1.98e9, "Hz", "1.98 GHz"}, {74, "degC", "74 °C"}, {133, "W", "133 W"}, {7, "cores", "7 cores"},
		{math.NaN(), "s", "–"}, {math.Inf(1), "bytes", "–"}, {math.NaN(), "ratio", "–"}, {0.00004, "1", "4e-05"},
	} {
		if got := Format(c.value, c.unit); got != c.want {
			t.Errorf("Format(%v, %q) = %q, want %q", c.value, c.unit, got, c.want)
		}
	}
}
