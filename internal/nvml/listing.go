package nvml

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pipetune/pipetune/internal/untrusted"
)

// driverFolder is where the NVIDIA kernel module reports its GPUs, without starting one:
// gpus/DOMAIN:BUS:DEVICE.FUNCTION/information and, for GPUs that MIG has cut up, capabilities/gpuMINOR/mig/gi….
const driverFolder = "/proc/driver/nvidia"

// indexPlace begins the place of a GPU of which nothing but NVML's index is known.
const indexPlace = "#"

// listed returns the GPUs that can be opened: as the kernel module reports them, where it reports as many as NVML
// counts, else by NVML's indices.
func (s *Session) listed(count int) []Device {
	if s.library.has(byPCI) {
		if devices := listDriver(s.proc); len(devices) == count {
			return devices
		}
	}
	devices := make([]Device, count)
	for i := range devices {
		devices[i].Place = indexPlace + strconv.Itoa(i)
	}
	return devices
}

// listDriver reads what the kernel module tells; nothing where it does not, as in WSL2 and in some containers.
func listDriver(folder string) (devices []Device) {
	entries, err := os.ReadDir(filepath.Join(folder, "gpus"))
	if err != nil || len(entries) > maxDevices {
		return nil
	}
	for _, e := range entries {
		pci, ok := pciPlace(e.Name())
		if !ok {
			return nil
		}
		file, err := os.Open(filepath.Join(folder, "gpus", e.Name(), "information"))
		if err != nil {
			return nil
		}
		d := parseInformation(file)
		_ = file.Close() // read-only: nothing to lose
		d.Place, d.PCI = pci, pci
		if d.Minor != nil {
			cut, err := filepath.Glob(filepath.Join(folder, "capabilities", fmt.Sprintf("gpu%d", *d.Minor), "mig",
				"gi*"))
			if mig := err == nil && len(cut) > 0; mig {
				d.MIG = &mig
			}
		}
		devices = append(devices, d)
	}
	return devices
}

// maxInformation bounds the file of one GPU, which has some 400 bytes.
const maxInformation = 16 << 10

// parseInformation reads lines such as "Device Minor: \t 0". The UUID of a GPU that was never started is made of
// question marks.
func parseInformation(r io.Reader) (d Device) {
	lines := bufio.NewScanner(io.LimitReader(r, maxInformation))
	for lines.Scan() {
		key, value, _ := strings.Cut(lines.Text(), ":")
		switch value = strings.TrimSpace(value); strings.TrimSpace(key) {
		case "Model":
			d.Name = untrusted.Cut(value, 96).String()
		case "GPU UUID":
			if uuidForm.MatchString(value) {
				d.UUID = value
			}
		case "Device Minor":
			if n, err := strconv.Atoi(value); err == nil && n >= 0 && n < maxDevices {
				d.Minor = &n
			}
		}
	}
	return d
}

// pciPlace turns "0000:3b:00.0" into domain, bus and device of fixed width, as Device.PCI has them.
func pciPlace(name string) (string, bool) {
	var domain, bus, device uint32
	if _, err := fmt.Sscanf(name, "%x:%x:%x.", &domain, &bus, &device); err != nil {
		return "", false
	}
	return pciText(domain, bus, device), true
}

func pciText(domain, bus, device uint32) string {
	return fmt.Sprintf("%08x:%08x:%08x", domain, bus, device)
}
