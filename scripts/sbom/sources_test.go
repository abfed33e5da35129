package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/must"
)

func TestSourcesOfAPortableBuild(t *testing.T) {
	const line = "zlib 1.3.2 libz-sys 1.1.31 abc inflate 1.3.2\n"
	for name, c := range map[string]struct{ list, program, want, err string }{
		"a library":          {line, "\x00 inflate 1.3.2 by", "pkg:generic/zlib@1.3.2 pkg:pypi/ziglang@0.17.1 ", ""},
		"another one inside": {line, "inflate 1.2.13", "", "holds no"},
		"a cut line":         {"zlib 1.3.2 libz-sys 1.1.31\n", "inflate 1.3.2", "", "names no library"},
		"nothing":            {"", "inflate 1.3.2", "", "names no library"},
	} {
		t.Run(name, func(t *testing.T) {
			list, program := filepath.Join(t.TempDir(), "SOURCES"), filepath.Join(t.TempDir(), "program")
			must.Do(t, os.WriteFile(list, []byte(c.list), 0o600))
			must.Do(t, os.WriteFile(program, []byte(c.program), 0o600))
			all, err := sources(list, program, "ziglang==0.17.1")
			got := ""
			for _, c := range all {
				got += c.URL + " "
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
			if (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("error %v, want %q", err, c.err)
			}
		})
	}
}
