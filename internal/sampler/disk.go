package sampler

import (
	"context"
	"time"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/recording"
)

// Disk samples the physical block devices that hold the job's data, and no others; of NVMe multipath the paths, which
// count. Data on a network or FUSE file system or in memory has no device here, which is reported once per mount.
type Disk struct {
	steady
	machine    *procfs.Machine
	data       Data
	generation int               // of the data that the entities are of
	entities   map[string]string // device name to entity
	shown      map[string]bool   // devices met at least once
}

// Data says what holds the job's data. It becomes known while the job is watched: each change of it has a greater
// generation, from 0 on while none is known.
type Data func() (generation int, storage []procfs.Storage)

// NewDisk watches the devices below the data. The kernel's times are exact to the millisecond.
func NewDisk(fs procfs.FS, data Data) *Disk {
	return &Disk{steady: steady{"disk", 500 * time.Millisecond}, machine: fs.Machine(), data: data,
		shown: make(map[string]bool)}
}

// Start implements Sampler.
func (d *Disk) Start(_ context.Context, sink recording.Sink) error {
	err := d.machine.Diskstats(func(*procfs.DiskStat) {})
	unread(sink, "disk_*", "", err, "mount /proc")
	return err
}

// Sample implements Sampler.
func (d *Disk) Sample(_ context.Context, sink recording.Sink) {
	if generation, storage := d.data(); generation != d.generation {
		d.generation = generation
		d.follow(sink, storage)
	}
	if len(d.entities) == 0 {
		return
	}
	left := len(d.entities)
	err := d.machine.Diskstats(func(s *procfs.DiskStat) {
		if entity, ok := d.entities[string(s.Name)]; ok {
			left--
			d.shown[entity] = true
			sink.Add(metric.DiskReads, entity, float64(s.Reads))
			sink.Add(metric.DiskReadBytes, entity, float64(s.ReadBytes))
			sink.Add(metric.DiskReadTime, entity, s.ReadSeconds)
			sink.Add(metric.DiskBusy, entity, s.BusySeconds)
			sink.Add(metric.DiskQueueTime, entity, s.QueueSeconds)
		}
	})
	unread(sink, "disk_*", "", err, "")
	if err == nil && left > 0 {
		d.absent(sink)
	}
}

// follow takes over a new set of devices and reports what has none.
func (d *Disk) follow(sink recording.Sink, storage []procfs.Storage) {
	d.entities = make(map[string]string)
	for _, s := range storage {
		for _, dev := range s.Devices {
			for _, name := range dev.Counters {
				d.entities[name] = "disk/" + name
			}
			if why := dev.Uncounted; why.Reason != "" {
				sink.Unseen("disk_*", "disk/"+dev.Name, "the kernel does not count what "+dev.Name+" does: "+why.Reason,
					why.Cure)
			}
		}
		if reason, cure := whyNoDevice(s); reason != "" {
			sink.Unseen("disk_*", "", reason, cure)
		}
	}
}

func whyNoDevice(s procfs.Storage) (reason, cure string) {
	switch {
	case s.Kind == "":
		return "no mount holds the path of the data", ""
	case s.Kind == procfs.StorageNetwork:
		return "the data lies on a network file system (" + known(s.FSType) + "), which has no block device here",
			"look at the server, or at mountstats of the client"
	case s.Kind == procfs.StorageFUSE:
		return "the data lies on a FUSE file system (" + known(s.FSType) + "), which has no block device here",
			"look at what the FUSE server reads"
	case s.Kind == procfs.StorageShared:
		return "the data lies in a folder of the host (" + known(s.FSType) + "), which has no block device here",
			"run pipetune on the host for its devices"
	case s.Kind == procfs.StorageMemory:
		return "the data lies in memory (" + known(s.FSType) + "); no device is read", ""
	case s.Unresolved != "":
		return s.Unresolved, "run pipetune on the host, outside of the container"
	case s.Kind == procfs.StorageUnknown:
		return "the data lies on a file system (" + known(s.FSType) + ") that does not say what is below it", ""
	}
	return "", ""
}

// known keeps a file system's type out of the text unless it is a plain word: the part after "fuse." is chosen by
// whoever mounts it.
func known(fstype string) string {
	for _, c := range []byte(fstype) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '.' && c != '-' && c != '_' {
			return "unnamed"
		}
	}
	return fstype[:min(len(fstype), 40)]
}

// absent reports devices that the walk never met: diskstats of a container may leave them out.
func (d *Disk) absent(sink recording.Sink) {
	for _, entity := range d.entities {
		if !d.shown[entity] {
			sink.Unseen("disk_*", entity, "the device is not in /proc/diskstats",
				"run pipetune on the host, outside of the container")
		}
	}
}

// Close implements Sampler.
func (d *Disk) Close() { d.machine.Close() }
