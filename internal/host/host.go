// Package host says what machine a job runs on: cores and memory it may use, kernel, control groups, and what holds its
// data. It is read once.
//
// It promises that what could not be read is left out and named in the notes with its cure. It refuses to touch a path
// of the job in this process: those go to a child, because a mount that hangs would hold us for ever.
package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/untrusted"
)

// Options say which machine to describe and for which process of the job.
type Options struct {
	// FS is the machine; the zero value is this one.
	FS procfs.FS
	// Target is the job's process whose limits and mounts count: the first trainer.
	Target procfs.ID
	// Trainers are all of them, where there are several: what one may use the job may use.
	Trainers []procfs.ID
	// Paths lets Storage ask about the job's paths in a child; nil asks nothing.
	Paths     PathService
	Redaction untrusted.Redaction
}

// PathService asks for a file system in a child process; *isolate.Paths is one.
type PathService interface {
	Statfs(ctx context.Context, key, path string) (isolate.FileSystem, error)
}

// Note says what could not be read, why, and what would change that.
type Note = recording.Unseen

// Describe reads the machine. The error is ErrGone of procfs where the job's process ended meanwhile; everything else
// that failed is a note.
func Describe(o Options) (recording.Host, []Note, error) {
	d := describer{Options: o}
	d.identity()
	d.kernel()
	d.machine()
	if err := d.group(); err != nil {
		return recording.Host{}, nil, fmt.Errorf("describing the machine: %w", err)
	}
	return d.host, d.notes, nil
}

type describer struct {
	Options
	host  recording.Host
	notes []Note
}

func (d *describer) note(signal string, err error, cure string) {
	if errors.Is(err, fs.ErrPermission) {
		cure = "run pipetune as the user of the job, or as root"
	}
	d.notes = append(d.notes, Note{Signal: signal, Entity: "host", Reason: untrusted.Sanitize(err.Error()), Cure: cure})
}

// identity distinguishes this machine from the others of a job. The number of the boot is what nobody can guess: a hash
// of the name alone would give the name away to who has a list of names. The name tells containers on one machine
// apart.
func (d *describer) identity() {
	name, nameErr := d.FS.HostName()
	boot, err := d.FS.BootID()
	if err = errors.Join(err, nameErr); err != nil {
		if !errors.Is(err, procfs.ErrNoData) { // where there is no /proc, the kernel's version says so
			d.note("host_id", err, "")
		}
		return
	}
	sum := sha256.Sum256([]byte(boot + "\x00" + name))
	d.host.ID = hex.EncodeToString(sum[:6])
	if d.Redaction.Off {
		d.host.Name = untrusted.Sanitize(name)
	}
}

func (d *describer) kernel() {
	release, err := d.FS.KernelRelease()
	if err != nil {
		d.note("kernel", err, "mount /proc")
	}
	d.host.Kernel = untrusted.Sanitize(release)
	switch scope, err := d.FS.PtraceScope(); {
	case err == nil:
		d.host.PtraceScope = &scope
	case !errors.Is(err, procfs.ErrNoData): // no Yama is no restriction
		d.note("ptrace_scope", err, "")
	}
	d.host.Virtual = d.FS.Hypervisor()
}

func (d *describer) machine() {
	m := d.FS.Machine()
	defer m.Close()
	var stat procfs.SystemStat
	if err := m.Stat(&stat); err != nil {
		d.note("cpus_present", err, "mount /proc")
	}
	d.host.CPUsPresent = len(stat.Cores)
	if n, err := d.FS.PhysicalCores(); err == nil {
		d.host.CoresPhysical = n
	}
	var info procfs.Meminfo
	if err := m.Meminfo(&info); err != nil {
		d.note("memory_total_bytes", err, "mount /proc")
		return
	}
	d.host.MemoryBytes = info.Total.Or(0)
	swaps, err := d.FS.SwapDevices()
	if err != nil {
		d.note("swap_*", err, "")
	}
	for _, name := range swaps {
		d.host.SwapDevices = append(d.host.SwapDevices, untrusted.Path(name, d.Redaction))
	}
}

// group reads what the job's process may use.
func (d *describer) group() error {
	p, err := d.FS.OpenID(d.Target)
	if err != nil {
		return err
	}
	defer p.Close()
	var others []int
	for _, t := range d.Trainers {
		if t != d.Target {
			others = append(others, t.PID)
		}
	}
	usable, err := d.FS.UsableCPUs(d.Target.PID, others...)
	if errors.Is(err, procfs.ErrGone) {
		return err
	}
	if err != nil {
		d.note("cpus_usable", err, "")
	} else {
		d.host.CPUsUsable = usable.CPUs
		d.host.CPUsAffinity = usable.Affinity.Or(0)
		d.host.CPUsCpuset = usable.CPUSet.Or(0)
		if q, ok := usable.Quota.Get(); ok {
			d.host.CPUQuota = &q
		}
	}
	group, err := d.FS.Cgroup(d.Target.PID)
	d.host.CgroupVersion = string(group.Mode)
	if err != nil {
		d.note("cgroup_*", err, "mount a cgroup file system where pipetune runs, or run pipetune on the host")
		return nil
	}
	limit, err := group.MemoryLimit()
	if err != nil && !errors.Is(err, procfs.ErrNoData) {
		d.note("cgroup_memory_limit_bytes", err, "")
	}
	if l, ok := limit.Get(); ok {
		d.host.MemoryLimit = &l.Bytes
	}
	return nil
}
