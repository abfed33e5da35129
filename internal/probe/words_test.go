package probe

import "testing"

func TestInUnits(t *testing.T) {
	for bytes, want := range map[int64]string{0: "0 bytes", 1: "1 byte", 1023: "1023 bytes", 1024: "1 KiB",
		1536: "1.5 KiB", 8 << 20: "8 MiB", 3 << 29: "1.5 GiB"} {
		if got := inUnits(bytes); got != want {
			t.Errorf("%d: %q, want %q", bytes, got, want)
		}
	}
}

func TestSeveral(t *testing.T) {
	for n, want := range map[int]string{0: "0 processes", 1: "1 process", 2: "2 processes"} {
		if got := several(n, "process", "processes"); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
