package dataset

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/pipetune/pipetune/internal/must"
)

// hub is a Hugging Face cache with count pictures in one snapshot.
func hub(t *testing.T, count int) (snapshot, blobs string) {
	t.Helper()
	repo := filepath.Join(t.TempDir(), "hub", "datasets--someone--flowers")
	snapshot, blobs = filepath.Join(repo, "snapshots", "0123abc"), filepath.Join(repo, "blobs")
	must.Do(t, os.MkdirAll(filepath.Join(snapshot, "train"), 0o755))
	for i := range count {
		name := strconv.Itoa(i)
		write(t, filepath.Join(blobs, "e3b0c442"+name), picture(t, "jpeg", 8, 8))
		must.Do(t, os.Symlink("../../../blobs/e3b0c442"+name, filepath.Join(snapshot, "train", name+".jpg")))
	}
	return snapshot, blobs
}

func TestSnapshotIsFollowedToItsBlobs(t *testing.T) {
	snapshot, blobs := hub(t, 5)
	got, err := surveyed(t, snapshot, SurveyOptions{})
	if err != nil || got.Kind != Image || got.Files != 5 || got.Links != 0 || len(got.Sample.Items) != 5 ||
		got.Sample.Files[0].Bytes == 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	check(t, got)
	if within := got.Sample.Within(true); !slices.Contains(within, blobs) {
		t.Errorf("who reads the sample may come to %q", within)
	}
	o := NewOpened(got.Sample, Source.Open)
	defer o.Forget()
	for _, ref := range got.Sample.Items {
		if data, err := o.Read(ref); err != nil || len(data) == 0 {
			t.Errorf("%d bytes, %v", len(data), err)
		}
	}
}

// Links that lead anywhere else, over however many others, are counted and not followed.
func TestSnapshotLeadsNowhereElse(t *testing.T) {
	snapshot, blobs := hub(t, 1)
	secret := filepath.Join(t.TempDir(), "secret.jpg")
	write(t, secret, picture(t, "jpeg", 8, 8))
	must.Do(t, os.Symlink(secret, filepath.Join(blobs, "onward")))
	for name, target := range map[string]string{
		"out.jpg": secret, "up.jpg": "../../blobs/../../../../secret.jpg", "onward.jpg": "../../blobs/onward",
		"none.jpg": "../../blobs/none", "all": "../../blobs",
	} {
		must.Do(t, os.Symlink(target, filepath.Join(snapshot, name)))
	}
	got, err := surveyed(t, snapshot, SurveyOptions{})
	if err != nil || got.Files != 1 || got.Links != 5 {
		t.Errorf("%d files, %d links, %v; want 1 and 5", got.Files, got.Links, err)
	}
}

func TestReach(t *testing.T) {
	for path, want := range map[string]int{"/d/hub/datasets--a--b/snapshots/0a/train": 2,
		"/d/hub/models--a/snapshots/0a/x.h5": 2,
		"/d/hub/datasets--a--b/snapshots":    1, "/d/photos/snapshots/2024": 1, "/": 1, "snapshots/a": 1} {
		if got := Reach(path); len(got) != want || got[0] != path {
			t.Errorf("%s: %q", path, got)
		}
	}
}
