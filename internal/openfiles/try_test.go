package openfiles

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTryCountsAndLeavesNothing(t *testing.T) {
	folder := t.TempDir()
	if err := Try(folder); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(folder)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if err := Try(filepath.Join(folder, "none")); err == nil {
		t.Error("a folder that is not there passes")
	}
}
