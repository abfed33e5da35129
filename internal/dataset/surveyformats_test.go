package dataset

import (
	"archive/tar"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/must"
)

// What is not read here has its name all the same, and what was measured instead is said.
func TestSurveyNamesWhatItDoesNotRead(t *testing.T) {
	dir := t.TempDir()
	for path, content := range map[string]string{
		"zarr/.zarray": "{}", "zarr/0.0": strings.Repeat("x", 900), "zarr/0.1": strings.Repeat("x", 900),
		"saved/dataset_info.json": "{}", "saved/state.json": "{}",
		"saved/data-00000-of-00001.arrow": "\xff\xff\xff\xff" + strings.Repeat("\x00", 900),
		"classic.nc":                      "CDF\x01" + strings.Repeat("\x00", 900),
	} {
		write(t, filepath.Join(dir, path), []byte(content))
	}
	for path, want := range map[string]string{"zarr": "zarr", "saved": "arrow", "classic.nc": "netcdf"} {
		got, err := surveyed(t, filepath.Join(dir, path), SurveyOptions{})
		if err != nil || got.Kind != Other || got.Format != want || got.Part == nil || !strings.Contains(got.Part.Why,
			want+", which is not read here") {
			t.Errorf("%s: %s %q, %+v, %v", path, got.Kind, got.Format, got.Part, err)
		}
	}
}

// oldTar is an archive as Unix V7 wrote it: without a mark, known by the sum of its header alone.
func oldTar(t *testing.T, names ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, name := range names {
		member(t, w, name, picture(t, "jpeg", 8, 8))
	}
	must.Do(t, w.Close())
	raw := out.Bytes()
	for at := 0; at+512 <= len(raw) && raw[at] != 0; {
		var size int
		must.Get(fmt.Sscanf(string(raw[at+124:at+135]), "%o", &size))(t)
		clear(raw[at+257 : at+512])
		copy(raw[at+148:at+156], "        ")
		sum := 0
		for _, b := range raw[at : at+512] {
			sum += int(b)
		}
		copy(raw[at+148:], fmt.Sprintf("%06o\x00 ", sum))
		at += 512 + (size+511)/512*512
	}
	return raw
}

func TestSurveyKnowsOldArchives(t *testing.T) {
	path := filepath.Join(t.TempDir(), "old.tar")
	raw := oldTar(t, "a.jpg", "b.jpg")
	must.Do(t, os.WriteFile(path, raw, 0o644))
	got, err := surveyed(t, path, SurveyOptions{})
	if err != nil || got.Kind != Tar || len(got.Sample.Items) != 2 {
		t.Errorf("%s, %d items, %v", got.Kind, len(got.Sample.Items), err)
	}
	raw[0] ^= 1 // the sum is that of another name
	must.Do(t, os.WriteFile(path, raw, 0o644))
	if got, _ := surveyed(t, path, SurveyOptions{}); got.Kind == Tar && len(got.Sample.Items) > 0 {
		t.Error("a wrong sum is taken for that of an archive")
	}
}
