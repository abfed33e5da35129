package cli

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/spf13/pflag"
)

// allowed says what values flags of a type take.
var allowed = map[string]string{
	"duration": "a time with its unit, like 30s, 2m or 1h30m, is expected",
	"int":      "a whole number is expected",
	"int64":    "a whole number is expected",
	"uint64":   "a whole number of at least 0 is expected",
	"float64":  "a number is expected",
	"bool":     "true or false is expected",
}

// wholeDuration is a duration as time.ParseDuration takes it. One that it refuses all the same is beyond 292 years.
var wholeDuration = regexp.MustCompile(`^[-+]?(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$`)

// readable says of a flag's value that cannot be read what was given and what is allowed; other mistakes stay as they
// are.
func readable(err error) error {
	var bad *pflag.InvalidValueError
	if !errors.As(err, &bad) {
		return err
	}
	f := bad.GetFlag()
	if wholeDuration.MatchString(bad.GetValue()) || errors.Is(err, strconv.ErrRange) {
		return fmt.Errorf("--%s %q: too large", f.Name, bad.GetValue())
	}
	if want, ok := allowed[f.Value.Type()]; ok {
		return fmt.Errorf("--%s %q: %s", f.Name, bad.GetValue(), want)
	}
	return err
}
