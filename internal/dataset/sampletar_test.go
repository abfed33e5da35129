package dataset

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/must"
)

// shard makes a tar file of samples, each a picture and its label.
func shard(t *testing.T, samples int) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for i := range samples {
		for name, content := range map[string]string{"cls": "7", "jpg": strings.Repeat("x", 100+i)} {
			member(t, w, fmt.Sprintf("%06d.%s", i, name), []byte(content))
		}
	}
	must.Do(t, w.Close())
	return out.Bytes()
}

func member(t *testing.T, w *tar.Writer, name string, content []byte) {
	t.Helper()
	must.Do(t, w.WriteHeader(&tar.Header{Name: name, Size: int64(len(content)), Mode: 0o600, Format: tar.FormatUSTAR}))
	must.Get(w.Write(content))(t)
}

func TestSurveyTar(t *testing.T) {
	dir := t.TempDir()
	for i := range 3 {
		write(t, filepath.Join(dir, fmt.Sprintf("%d.tar", i)), shard(t, 200))
	}
	got := must.Get(surveyed(t, dir, SurveyOptions{MaxItems: 300}))(t)
	check(t, got)
	if got.Kind != Tar || got.Files != 3 || *got.Items != 600 || len(got.Sample.Items) != 300 || got.ItemBytes != nil ||
		len(got.Unread) != 0 {
		t.Errorf("%d items drawn of %d, %d unread", len(got.Sample.Items), *got.Items, len(got.Unread))
	}
	for _, item := range got.Sample.Items {
		raw := must.Get(os.ReadFile(string(got.Sample.Files[item.File].Path)))(t)
		if piece := raw[item.At : item.At+item.Bytes]; len(piece) < 100 || strings.Trim(string(piece), "x") != "" {
			t.Fatalf("at %d lies %.20q", item.At, piece)
		}
	}
}

func TestSurveyDamagedTar(t *testing.T) {
	whole := shard(t, 50)
	dir := t.TempDir()
	cut := filepath.Join(dir, "cut.tar")
	write(t, cut, whole[:len(whole)/2])
	got, err := surveyed(t, cut, SurveyOptions{})
	if err != nil || got.Items != nil || len(got.Sample.Items) < 20 || len(got.Unread) != 1 ||
		got.Unread[0].Reason != reasonDamage || len(got.Notes) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	var none bytes.Buffer
	w := tar.NewWriter(&none)
	member(t, w, "empty.jpg", nil)
	must.Do(t, w.Close())
	write(t, filepath.Join(dir, "folder", "none.tar"), none.Bytes())
	if got, err := surveyed(t, filepath.Join(dir, "folder"), SurveyOptions{}); !errors.Is(err, ErrNoItems) ||
		!strings.Contains(err.Error(), errNoMember.Error()) {
		t.Errorf("an archive of empty members: %+v, %v", got, err)
	}
}
