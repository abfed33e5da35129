package procfs

import (
	"runtime"
	"slices"
	"strings"
)

// hypervisors maps what firmware says of its maker or product to a word
// (systemd's detect-virt uses the same strings).
var hypervisors = []struct{ prefix, name string }{
	{"QEMU", "qemu"}, {"KVM", "kvm"}, {"OpenStack", "kvm"}, {"Amazon EC2", "amazon"}, {"VMware", "vmware"},
	{"innotek GmbH", "virtualbox"},
	{"VirtualBox", "virtualbox"}, {"Xen", "xen"}, {"Google Compute Engine", "google"}, {"Google", "google"},
	{"Microsoft Corporation", "microsoft"}, {"DigitalOcean", "kvm"}, {"Alibaba Cloud", "kvm"},
	{"Parallels", "parallels"}, {"BHYVE", "bhyve"},
}

// hypervisorFlag reports whether the CPUs carry the flag that says that this is a virtual machine.
func (f FS) hypervisorFlag() (bool, error) {
	lib, err := f.library()
	if err != nil {
		return false, err
	}
	infos, err := lib.CPUInfo()
	if err != nil {
		return false, classify(f.Path("proc", "cpuinfo"), err)
	}
	if len(infos) == 0 {
		return false, &readError{f.Path("proc", "cpuinfo"), ErrNoData, ErrMalformed}
	}
	return slices.Contains(infos[0].Flags, "hypervisor"), nil
}

// Hypervisor returns a word for the virtual machine this is, "vm" where only
// the CPU's flag says so, and "" where nothing hints at one. Microsoft and
// Google also make real machines, so the CPU's flag must confirm the firmware
// where there is a flag to read (x86).
func (f FS) Hypervisor() string {
	flagged, err := f.hypervisorFlag()
	believed := flagged || err != nil || runtime.GOARCH != "amd64" // other CPUs have no such flag
	for _, file := range []string{"sys_vendor", "product_name", "board_vendor"} {
		text, readErr := f.readString("sys", "class", "dmi", "id", file)
		if readErr != nil {
			continue
		}
		for _, h := range hypervisors {
			if believed && strings.HasPrefix(text, h.prefix) {
				return h.name
			}
		}
	}
	if s, err := f.readString("sys", "hypervisor", "type"); err == nil && s == "xen" {
		return "xen"
	}
	if flagged {
		return "vm"
	}
	return ""
}
