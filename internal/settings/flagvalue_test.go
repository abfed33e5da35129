package settings

import (
	"errors"
	"testing"

	"github.com/spf13/pflag"
)

func TestValuesThatCannotBeRead(t *testing.T) {
	f := pflag.NewFlagSet("x", pflag.ContinueOnError)
	f.Duration("duration", 0, "")
	f.IntP("number", "n", 0, "")
	f.Bool("yes", false, "")
	for arg, want := range map[string]string{
		"--duration=3":  `--duration "3": a time with its unit, like 30s, 2m or 1h30m, is expected`,
		"--number=many": `--number "many": a whole number is expected`,
		"-nx":           `--number "x": a whole number is expected`,
		"--yes=maybe":   `--yes "maybe": true or false is expected`,
	} {
		if err := Readable(f.Parse([]string{arg})); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", arg, err, want)
		}
	}
	if other := errors.New("unknown flag"); !errors.Is(Readable(other), other) {
		t.Error("another mistake is not passed on")
	}
}
