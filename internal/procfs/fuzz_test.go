package procfs

import (
	"math"
	"reflect"
	"regexp"
	"testing"
)

// damage is what a text is spoilt with everywhere at once.
var damage = []spoiler{
	{regexp.MustCompile(`\n`), "\r\n"}, {regexp.MustCompile(`[0-9]+`), "18446744073709551616"},
	{regexp.MustCompile(`[0-9]+`), "9223372036854775808"},
	{regexp.MustCompile(`[0-9]+`), "-1"}, {regexp.MustCompile(`[0-9]+`), "1e999"}, {regexp.MustCompile(`[0-9]+`), ""},
	{regexp.MustCompile(`[a-z]`), "\x00"},
	{regexp.MustCompile(`[a-z]`), "\xff"}, {regexp.MustCompile(`\n`), " 1 2 3 4\n"}, {regexp.MustCompile(`[ \t]`), ""},
	{regexp.MustCompile(`\n`), ""},
}

type spoiler struct {
	what *regexp.Regexp
	with string
}

// of returns the spoilt text.
func (s spoiler) of(text string) string { return s.what.ReplaceAllLiteralString(text, s.with) }

// FuzzParsers gives each parser good texts of all, damaged forms of them, and whatever comes: what one takes must hold
// numbers that can be.
func FuzzParsers(f *testing.F) {
	for _, p := range parsers {
		for k := range len(p.good) + 1 {
			f.Add([]byte(p.good[:k]))
		}
		for _, d := range damage {
			f.Add([]byte(d.of(p.good)))
		}
		f.Add([]byte(p.good + p.good))
	}
	for _, s := range []string{"", "\n", "\x00", "-1\n", "18446744073709551616\n", "1 (", "1 ()\n", ") (\n",
		"pid:[4026531836]", "pid:[4026531836"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for name, p := range parsers {
			v, err := p.parse(b)
			if err != nil {
				continue
			}
			least := int64(0)
			if name == "syscall" {
				least = -1 // Number, of none
			}
			if !canBe(reflect.ValueOf(v), least) {
				t.Errorf("%s of %q: %+v", name, b, v)
			}
			if mounts, ok := v.([]Mount); ok {
				_, _ = MountOf(mounts, "/a/b")
			}
		}
		if n, err := parseNamespaceLink(string(b)); err != nil && n != 0 {
			t.Errorf("namespace %d beside %v", n, err)
		}
		_ = ParseEnviron(b)
		_ = ParseCmdline(b)
		_, _ = ParseCPUList(b)
		_ = overlayDirs(string(b))
		_ = unescapeOctal(string(b))
	})
}

// canBe reports whether all numbers in a value are finite, the integers from least on and the others not below zero.
func canBe(v reflect.Value, least int64) bool {
	switch v.Kind() {
	case reflect.Int, reflect.Int64:
		return v.Int() >= least
	case reflect.Float64:
		return v.Float() >= 0 && !math.IsInf(v.Float(), 0)
	case reflect.Struct:
		for i := range v.NumField() {
			if !canBe(v.Field(i), least) {
				return false
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if !canBe(v.Index(i), least) {
				return false
			}
		}
	}
	return true
}
