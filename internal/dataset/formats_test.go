package dataset

import (
	"strings"
	"testing"
)

func TestEveryFormatIsRecognised(t *testing.T) {
	for _, f := range formats {
		if f.mark != "" {
			head := append(make([]byte, f.at), f.mark...)
			if got := recognise(head); got.name != f.name {
				t.Errorf("the mark of %s is taken for %q", f.name, got.name)
			}
			if got := recognise(head[:len(head)-1]); got.name == f.name {
				t.Errorf("a cut mark is still taken for %s", f.name)
			}
		}
		for _, extension := range strings.Fields(f.extensions) {
			if got := byName("x" + strings.ToUpper(extension)); got.name != f.name {
				t.Errorf("%s is taken for %q, want %s", extension, got.name, f.name)
			}
		}
		if f.mark == "" && f.extensions == "" {
			t.Errorf("%s can never be recognised", f.name)
		}
	}
}
