package procfs

import (
	"context"

	"github.com/shirou/gopsutil/v3/common"
	"github.com/shirou/gopsutil/v3/mem"
)

// SwapDevices returns the names of the devices and files that memory is swapped out to, unclean, from /proc/swaps; none
// says that there is no swap.
func (f FS) SwapDevices(ctx context.Context) ([]string, error) {
	env := common.EnvMap{common.HostProcEnvKey: f.Path("proc")}
	devices, err := mem.SwapDevicesWithContext(context.WithValue(ctx, common.EnvKey, env))
	if err != nil {
		return nil, classify(f.Path("proc", "swaps"), err)
	}
	var names []string
	for _, d := range devices {
		names = append(names, d.Name)
	}
	return names, nil
}
