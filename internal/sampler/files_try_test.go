package sampler

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTryOpensCountsAndLeavesNothing(t *testing.T) {
	folder := t.TempDir()
	if err := TryOpens(folder); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(folder)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if err := TryOpens(filepath.Join(folder, "none")); err == nil {
		t.Error("a folder that is not there passes")
	}
}
