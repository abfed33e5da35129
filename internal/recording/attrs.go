package recording

import (
	"iter"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// The attributes of an event are the fields of its row, a struct of rows.go. A field is named, and left out where it
// is empty, as its tag for encoding/json says. Its type is string, bool, int, int64, float64, a pointer to one of
// these or []string. Texts stand as they are, truth values as 0 and 1, lists with a comma between their parts, and
// floating-point numbers with as many decimals as the tag digits says, else as many as they need.

// maxNumber is far above anything a machine can count (2^63 bytes is 9e18) and low enough that sums of readings stay
// finite.
const maxNumber = 1e24

// Attrs returns a row, which is a struct, as attributes.
func Attrs(row any) map[string]string {
	attrs := map[string]string{}
	for f, v := range reflect.ValueOf(row).Fields() {
		name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		if option != "" && (v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0) {
			continue
		}
		attrs[name] = text(reflect.Indirect(v), f.Tag.Get("digits"))
	}
	return attrs
}

func text(v reflect.Value, digits string) string {
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			return "1"
		}
		return "0"
	case reflect.Int, reflect.Int64:
		return strconv.FormatInt(v.Int(), 10)
	case reflect.Float64:
		if n, err := strconv.Atoi(digits); err == nil {
			return strconv.FormatFloat(v.Float(), 'f', n, 64)
		}
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case reflect.Slice:
		return strings.Join(v.Interface().([]string), ",")
	}
	return v.String()
}

// Into sets the fields of a row, which is a pointer to a struct, that the event has attributes for, and leaves the
// others as they are. So does an attribute that is none of the field's type: a number that is not finite, or below
// zero where the field is not tagged signed.
func (e Event) Into(row any) {
	for f, v := range reflect.ValueOf(row).Elem().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		s, reported := e.Attrs[name]
		if !reported {
			continue
		}
		to := v
		if v.Kind() == reflect.Pointer {
			to = reflect.New(f.Type.Elem()).Elem()
		}
		if parse(to, s, f.Tag.Get("signed") != "") && v.Kind() == reflect.Pointer {
			v.Set(to.Addr())
		}
	}
}

func parse(v reflect.Value, s string, signed bool) bool {
	switch v.Kind() {
	case reflect.Bool:
		yes, err := strconv.ParseBool(s)
		if err != nil {
			return false
		}
		v.SetBool(yes)
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < 0 && !signed {
			return false
		}
		v.SetInt(n)
	case reflect.Float64:
		x, err := strconv.ParseFloat(s, 64)
		if err != nil || !(math.Abs(x) <= maxNumber) || x < 0 && !signed {
			return false
		}
		v.SetFloat(x)
	case reflect.Slice:
		v.SetZero()
		if s != "" {
			v.Set(reflect.ValueOf(strings.Split(s, ",")))
		}
	default:
		v.SetString(s)
	}
	return true
}

// Each returns the events of a kind with their rows.
func Each[T any](rec *Recording, kind string) iter.Seq2[Event, T] {
	return func(yield func(Event, T) bool) {
		for _, e := range rec.Events {
			var row T
			if e.Kind != kind {
				continue
			}
			if e.Into(&row); !yield(e, row) {
				return
			}
		}
	}
}

// Rows returns what the events of a kind say of each entity; a later one adds to what those before said.
func Rows[T any](rec *Recording, kind string) map[string]T {
	rows := map[string]T{}
	for _, e := range rec.Events {
		if e.Kind == kind {
			row := rows[e.Entity]
			e.Into(&row)
			rows[e.Entity] = row
		}
	}
	return rows
}
