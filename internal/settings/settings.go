// Package settings fills in the flags that were not given on the command line: from the environment, then from files.
// It keeps where each value came from.
package settings

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// The origins of a flag that no source has set: nobody has, or the command line.
const (
	Default     = "default"
	CommandLine = "command line"
)

// Refused is a value that a flag does not take.
type Refused struct {
	Origin string
	Err    error // the flag's
}

func (r *Refused) Error() string { return fmt.Sprintf("%s: %v", r.Origin, r.Err) }

func (r *Refused) Unwrap() error { return r.Err }

// Source is a place that values come from.
type Source interface {
	// value gives what the source says of a command's flag, several values where the flag may be repeated, and names
	// the place; no values: nothing.
	value(command, flag string) (values []string, origin string)
}

// Apply sets each flag of a command that the command line has not set to what the first source says that knows it.
// Flags named in except are left alone. It returns the origin of each flag. Its error is of type *Refused.
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
					err = &Refused{Origin: origin, Err: bad}
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
