package procfs

import "bytes"

// ReadLimits are how much may be read from devices in a second; an absent term is no limit.
type ReadLimits struct{ Bytes, Reads Optional[int64] }

// ioLimitFiles are the files of each version; of those of version 1, key is that of version 2 that each stands for
// (Documentation/admin-guide/cgroup-v1/blkio-controller.rst).
var ioLimitFiles = map[int][]struct{ name, key string }{
	1: {{"blkio.throttle.read_bps_device", "rbps"}, {"blkio.throttle.read_iops_device", "riops"}},
	2: {{"io.max", ""}},
}

// ReadLimits returns the tightest limits over all levels and the devices that are asked for, from io.max or the
// blkio.throttle files.
func (c Cgroup) ReadLimits(asked func(Device) bool) (limits ReadLimits, err error) {
	dirs, v := c.version("io")
	if v != 2 {
		dirs, v = c.version("blkio")
	}
	if v == 0 {
		return limits, c.noController("io")
	}
	for _, dir := range dirs {
		for _, file := range ioLimitFiles[v] {
			err := groupFile(dir, file.name, func(b []byte) error { return parseIOLimits(b, file.key, asked, &limits) })
			if err != nil {
				return ReadLimits{}, err
			}
		}
	}
	return limits, nil
}

// parseIOLimits parses "major:minor rbps=N wbps=max riops=N wiops=max" lines, or "major:minor N" where the file is of
// one key, and tightens limits.
func parseIOLimits(b []byte, ofFile string, asked func(Device) bool, limits *ReadLimits) error {
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
			switch n, ok = parseCount(value); {
			case !ok || !asked(dev):
			case string(key) == "rbps":
				limits.Bytes = Some(min(n, limits.Bytes.Or(n)))
			case string(key) == "riops":
				limits.Reads = Some(min(n, limits.Reads.Or(n)))
			}
		}
		return ok
	})
}
