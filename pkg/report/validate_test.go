package report

import (
	"reflect"
	"slices"
	"testing"
)

// TestFieldsAreHeldToWhatIsSaid: a list or a tag that no field answers to, or a list that lacks a constant of its type,
// would hold nothing.
func TestFieldsAreHeldToWhatIsSaid(t *testing.T) {
	enums := readSource(t).enums
	seen := map[string]bool{}
	var look func(of reflect.Type)
	look = func(of reflect.Type) {
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice || of.Kind() == reflect.Map {
			of = of.Elem()
		}
		if of.Kind() != reflect.Struct || seen[of.Name()] {
			return
		}
		seen[of.Name()] = true
		for i := range of.NumField() {
			f := of.Field(i)
			key, plain := of.Name()+"."+f.Name, f.Type
			if plain.Kind() == reflect.Pointer {
				plain = plain.Elem()
			}
			if list := words[key]; plain.Kind() == reflect.String && list != nil {
				seen[key] = true
				if all := enums[plain.Name()]; plain.Name() != "string" && !slices.Equal(list, all) {
					t.Errorf("%s is held to %q, and its type has %q", key, list, all)
				}
			}
			if f.Tag.Get("share")+f.Tag.Get("from") != "" && plain.Kind() != reflect.Float64 {
				t.Errorf("%s is no number", key)
			}
			if from := f.Tag.Get("from"); from != "" {
				if low, ok := of.FieldByName(from); !ok || low.Type.Kind() != reflect.Float64 {
					t.Errorf("%s is no less than %s, which is no number beside it", key, from)
				}
			}
			look(f.Type)
		}
	}
	for _, f := range schemaFiles {
		look(f.of)
	}
	for key := range words {
		if !seen[key] {
			t.Errorf("%s is no field of strings", key)
		}
	}
}
