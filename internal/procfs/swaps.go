package procfs

import (
	"context"
	"strings"

	"github.com/shirou/gopsutil/v3/common"
	"github.com/shirou/gopsutil/v3/mem"
)

// SwapDevice is a place memory is swapped out to.
type SwapDevice struct {
	// Name is the device or file, unclean.
	Name      string
	SizeBytes int64
	UsedBytes int64
	// InMemory says that it is compressed memory (zram), not storage.
	InMemory bool
}

// SwapDevices reads /proc/swaps; an empty list says that there is no swap.
func (f FS) SwapDevices(ctx context.Context) ([]SwapDevice, error) {
	path := f.Path("proc", "swaps")
	env := common.EnvMap{common.HostProcEnvKey: f.Path("proc")}
	devices, err := mem.SwapDevicesWithContext(context.WithValue(ctx, common.EnvKey, env))
	if err != nil {
		return nil, classify(path, err)
	}
	out := make([]SwapDevice, 0, len(devices))
	for _, d := range devices {
		if d.UsedBytes > 1<<62 || d.FreeBytes > 1<<62 {
			return nil, malformed(path, "size")
		}
		out = append(out, SwapDevice{
			Name: d.Name, SizeBytes: int64(d.UsedBytes + d.FreeBytes), UsedBytes: int64(d.UsedBytes),
			InMemory: strings.HasPrefix(strings.TrimPrefix(d.Name, "/dev/"), "zram"),
		})
	}
	return out, nil
}
