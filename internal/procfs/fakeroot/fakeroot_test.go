package fakeroot

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/pipetune/pipetune/internal/must"
)

func TestUnpack(t *testing.T) {
	dir := t.TempDir()
	archive := "a comment\n-- proc/1/cmdline --\npython\ntrain.py\n-- sys/x -> ../proc --\n-- proc/empty/ --\n-- " +
		"proc/last --\nend\n"
	must.Do(t, Unpack([]byte(archive), dir))
	if b, err := os.ReadFile(filepath.Join(dir, "sys/x/1/cmdline")); err != nil ||
		string(b) != "python\x00train.py\x00" {
		t.Errorf("cmdline through the link: %q, %v", b, err)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "proc/last")); err != nil || string(b) != "end\n" {
		t.Errorf("last file: %q, %v", b, err)
	}
	if info, err := os.Stat(filepath.Join(dir, "proc/empty")); err != nil || !info.IsDir() {
		t.Errorf("empty folder: %v, %v", info, err)
	}
}

func TestUnpackStaysInside(t *testing.T) {
	for _, name := range []string{"../x", "/etc/x", "a/../../x"} {
		if err := Unpack([]byte("-- "+name+" --\nx\n"), t.TempDir()); err == nil {
			t.Errorf("%s was unpacked", name)
		}
	}
}
