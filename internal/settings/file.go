package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/BurntSushi/toml"
)

// ErrForeign is why a file is not read: what it says would be somebody else's wish.
var ErrForeign = errors.New("it belongs to another user, or others may write to it")

// File is a file of settings: `flag = value` for every command that has the flag, and in a table [command] for that one
// alone.
type File struct {
	Path   string
	tables map[string]map[string]any // by command; "" holds what is meant for all
}

// Paths are the files that are read where they are there, the first one first: pipetune.toml in the folder it is
// started in, then the user's own, by the XDG base directories.
func Paths(getenv func(string) string) []string {
	paths := []string{"pipetune.toml"}
	switch config, home := getenv("XDG_CONFIG_HOME"), getenv("HOME"); {
	case filepath.IsAbs(config):
		paths = append(paths, filepath.Join(config, "pipetune", "config.toml"))
	case home != "":
		paths = append(paths, filepath.Join(home, ".config", "pipetune", "config.toml"))
	}
	return paths
}

// Open reads a file; nil where there is none that this user can reach. It is ErrForeign where another user than root or
// this one could have written it.
func Open(path string) (*File, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, fs.ErrPermission) {
		return nil, nil // one that may not be searched is another user's home, kept in HOME
	}
	if err != nil {
		return nil, err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || owner.Uid != 0 && int(owner.Uid) != os.Geteuid() || info.Mode().Perm()&0o002 != 0 {
		return nil, fmt.Errorf("%s: %w", path, ErrForeign)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a file", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f, err := parse(path, string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

func parse(path, text string) (*File, error) {
	var raw map[string]any
	if _, err := toml.Decode(text, &raw); err != nil {
		var bad toml.ParseError
		if errors.As(err, &bad) {
			return nil, fmt.Errorf("line %d: %s", bad.Position.Line, bad.Message)
		}
		return nil, err
	}
	f := &File{Path: path, tables: map[string]map[string]any{"": {}}}
	for key, value := range raw {
		if table, ok := value.(map[string]any); ok {
			f.tables[key] = table
			continue
		}
		f.tables[""][key] = value
	}
	for _, table := range slices.Sorted(maps.Keys(f.tables)) {
		for _, key := range slices.Sorted(maps.Keys(f.tables[table])) {
			if _, err := texts(f.tables[table][key]); err != nil {
				return nil, fmt.Errorf("%s: %w", dotted(table, key), err)
			}
		}
	}
	return f, nil
}

// Unknown names the first setting that no command takes, and whatever it may be taken for, by what the commands' flags
// are called.
func (f *File) Unknown(flags map[string][]string) (name string, known []string) {
	every := slices.Concat(slices.Collect(maps.Values(flags))...)
	for _, table := range slices.Sorted(maps.Keys(f.tables)) {
		known, ok := flags[table]
		if table == "" {
			known, ok = every, true
		}
		if !ok {
			return "[" + table + "]", slices.Sorted(maps.Keys(flags))
		}
		for _, key := range slices.Sorted(maps.Keys(f.tables[table])) {
			if !slices.Contains(known, key) {
				return dotted(table, key), known
			}
		}
	}
	return "", nil
}

// First is the first setting of the file whose flag is one of these, with its table; empty where there is none.
func (f *File) First(flags []string) string {
	for _, table := range slices.Sorted(maps.Keys(f.tables)) {
		for _, key := range slices.Sorted(maps.Keys(f.tables[table])) {
			if slices.Contains(flags, key) {
				return dotted(table, key)
			}
		}
	}
	return ""
}

func (f *File) value(command, flag string) ([]string, string) {
	for _, table := range []string{command, ""} {
		if value, ok := f.tables[table][flag]; ok {
			values, _ := texts(value) // parse has tried it
			return values, f.Path + ": " + dotted(table, flag)
		}
	}
	return nil, ""
}

func dotted(table, key string) string { return strings.TrimPrefix(table+"."+key, ".") }

// texts are the values of a setting as a command line would have them.
func texts(value any) ([]string, error) {
	switch v := value.(type) {
	case string, bool, int64, float64:
		return []string{fmt.Sprint(v)}, nil
	case []any:
		var all []string
		for _, each := range v {
			one, err := texts(each)
			if err != nil {
				return nil, err
			}
			all = append(all, one...)
		}
		return all, nil
	}
	return nil, fmt.Errorf("a text, a number, true, false or a list of these is expected")
}
