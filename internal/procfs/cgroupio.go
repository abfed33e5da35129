package procfs

import "bytes"

// IOLimit is what a cgroup allows on one device; an absent term is no limit.
type IOLimit struct {
	Device           Device
	ReadBytesPerSec  Optional[int64]
	WriteBytesPerSec Optional[int64]
	ReadsPerSec      Optional[int64]
	WritesPerSec     Optional[int64]
}

// ioLimitFiles are the files of each version; of those of version 1, key is that of version 2 that each stands for
// (Documentation/admin-guide/cgroup-v1/blkio-controller.rst).
var ioLimitFiles = map[int][]struct{ name, key string }{
	1: {{"blkio.throttle.read_bps_device", "rbps"}, {"blkio.throttle.write_bps_device", "wbps"},
		{"blkio.throttle.read_iops_device", "riops"}, {"blkio.throttle.write_iops_device", "wiops"}},
	2: {{"io.max", ""}},
}

// IOLimits returns the tightest limits per device over all levels, from io.max
// or the blkio.throttle files.
func (c Cgroup) IOLimits() ([]IOLimit, error) {
	limits := make(map[Device]*IOLimit)
	dirs, v := c.version("io")
	if v != 2 {
		dirs, v = c.version("blkio")
	}
	if v == 0 {
		return nil, c.noController("io")
	}
	for _, dir := range dirs {
		for _, file := range ioLimitFiles[v] {
			err := groupFile(dir, file.name, func(b []byte) error { return parseIOLimits(b, file.key, limits) })
			if err != nil {
				return nil, err
			}
		}
	}
	out := make([]IOLimit, 0, len(limits))
	for _, l := range limits {
		out = append(out, *l)
	}
	return out, nil
}

// parseIOLimits parses "major:minor rbps=N wbps=max riops=N wiops=max" lines, or "major:minor N" where the file is of
// one key, and tightens what limits holds.
func parseIOLimits(b []byte, ofFile string, limits map[Device]*IOLimit) error {
	return eachLine(b, "device limits", func(line []byte) bool {
		field, rest := nextField(line)
		dev, ok := parseDevice(string(field))
		for field, rest = nextField(rest); ok && len(field) > 0; field, rest = nextField(rest) {
			key, value, named := bytes.Cut(field, []byte{'='})
			if !named {
				key, value = []byte(ofFile), field
			}
			if string(value) == "max" {
				continue
			}
			var n int64
			if n, ok = parseCount(value); ok {
				tighten(limits, dev, string(key), n)
			}
		}
		return ok
	})
}

func tighten(limits map[Device]*IOLimit, dev Device, key string, n int64) {
	l := limits[dev]
	if l == nil {
		l = &IOLimit{Device: dev}
		limits[dev] = l
	}
	dst := map[string]*Optional[int64]{"rbps": &l.ReadBytesPerSec, "wbps": &l.WriteBytesPerSec,
		"riops": &l.ReadsPerSec, "wiops": &l.WritesPerSec}[key]
	if dst == nil {
		return
	}
	if have, ok := dst.Get(); !ok || n < have {
		*dst = Some(n)
	}
}
