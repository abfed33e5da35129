package procfs

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// PhysicalCores returns how many cores are online, each counted once however
// many hardware threads it runs.
func (f FS) PhysicalCores() (int, error) {
	dir := f.Path("sys", "devices", "system", "cpu")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, classify(dir, err)
	}
	siblings := make(map[string]bool)
	for _, e := range entries {
		if _, ok := parseCount([]byte(strings.TrimPrefix(e.Name(), "cpu"))); !ok {
			continue
		}
		// An offline CPU has no topology folder. The file was renamed in Linux 5.4.
		for _, name := range []string{"core_cpus_list", "thread_siblings_list"} {
			if s, ok := attr(filepath.Join(dir, e.Name(), "topology"), name); ok {
				siblings[s] = true
				break
			}
		}
	}
	if len(siblings) == 0 {
		return 0, &readError{dir, ErrNoData, errors.New("no topology")}
	}
	return len(siblings), nil
}
