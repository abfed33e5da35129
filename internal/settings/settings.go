// Package settings fills in the flags that were not given on the command line: from the environment, then from files.
// It keeps where each value came from.
package settings

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// The origins of a flag that no source has set: nobody has, or the command line.
const (
	Default     = "default"
	CommandLine = "command line"
)

// Source is a place that values come from.
type Source interface {
	// value gives what the source says of a command's flag, several values where the flag may be repeated, and names
	// the place; no values: nothing.
	value(command, flag string) (values []string, origin string)
}

// Apply sets each flag of a command that the command line has not set to what the first source says that knows it.
// Flags named in except are left alone. It returns the origin of each flag. Its error names the origin
// of the value that a flag does not take.
func Apply(command string, flags *pflag.FlagSet, sources []Source, except ...string) (origins map[string]string,
	err error) {
	origins = map[string]string{}
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Changed {
			origins[f.Name] = CommandLine
			return
		}
		origins[f.Name] = Default
		if f.Name == "help" || slices.Contains(except, f.Name) {
			return
		}
		for _, s := range sources {
			values, origin := s.value(command, f.Name)
			if len(values) == 0 || err != nil {
				continue
			}
			origins[f.Name] = origin
			for _, v := range values {
				if bad := flags.Set(f.Name, v); bad != nil {
					err = fmt.Errorf("%s: %w", origin, Readable(bad))
					return
				}
			}
			return
		}
	})
	return origins, err
}

// Environment is the source of PIPETUNE_<FLAG>, in capitals, with _ for -.
type Environment func(name string) string

func (getenv Environment) value(_, flag string) ([]string, string) {
	name := "PIPETUNE_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
	value := getenv(name)
	if value == "" {
		return nil, ""
	}
	return []string{value}, "environment variable " + name
}

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

// Readable says of a flag's value that cannot be read what was given and what is allowed; other mistakes stay as they
// are.
func Readable(err error) error {
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
