package procfs

import "github.com/prometheus/procfs"

// library is prometheus/procfs on the same root.
func (f FS) library() (procfs.FS, error) {
	lib, err := procfs.NewFS(f.Path("proc"))
	if err != nil {
		return lib, &readError{f.Path("proc"), ErrNoData, err}
	}
	return lib, nil
}

// SwapDevices returns the names of the devices and files that memory is swapped out to, unclean, from /proc/swaps; none
// says that there is no swap.
func (f FS) SwapDevices() ([]string, error) {
	lib, err := f.library()
	if err != nil {
		return nil, err
	}
	devices, err := lib.Swaps()
	if err != nil {
		return nil, classify(f.Path("proc", "swaps"), err)
	}
	var names []string
	for _, d := range devices {
		names = append(names, d.Filename)
	}
	return names, nil
}
