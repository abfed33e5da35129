//go:build reliability

package reliability

import (
	"debug/elf"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/must"
)

// libraryTrial holds the confinement of the child, and the names of all functions that pipetune calls, to NVIDIA's
// own library.
var libraryTrial = trial{
	id: "F12-library", fault: "NVIDIA's library is installed and no driver is loaded",
	made:   "libnvidia-ml.so.1 595.99.02 of Ubuntu's and 555.58.02 of Debian's package, unpacked (scripts/nvml)",
	target: gpuTarget + "; the library has each function that is called",
	run: func(s *stand) {
		folder := must.Get(filepath.Abs("../../build/nvml"))(s)
		if out, err := exec.Command("../../scripts/nvml", folder).CombinedOutput(); err != nil {
			s.Fatalf("fetching NVIDIA's library: %v\n%s", err, out)
		}
		found, err := filepath.Glob(filepath.Join(folder, "*", "libnvidia-ml.so.1"))
		if err != nil || len(found) == 0 {
			s.Fatalf("scripts/nvml left no library in %s (%v)", folder, err)
		}
		var list []driver
		for _, library := range found {
			version := filepath.Base(filepath.Dir(library))
			if missing := missingFunctions(s, library); len(missing) > 0 {
				s.missed("the library of %s has no %s", version, strings.Join(missing, ", "))
			}
			list = append(list, driver{name: version, folder: filepath.Dir(library), said: "NVML does not start"})
		}
		s.gpuWatches(list)
	},
}

// missingFunctions lists the functions that pipetune calls and a library does not export.
func missingFunctions(s *stand, library string) []string {
	s.Helper()
	file := must.Get(elf.Open(library))(s)
	defer file.Close()
	symbols := must.Get(file.DynamicSymbols())(s)
	return slices.DeleteFunc(nvmlFunctions(s), func(name string) bool {
		return slices.ContainsFunc(symbols, func(symbol elf.Symbol) bool {
			return symbol.Name == name && symbol.Section != elf.SHN_UNDEF
		})
	})
}
