package procfs

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
)

// IOLimit is what a cgroup allows on one device; an absent term is no limit.
type IOLimit struct {
	Device           Device
	ReadBytesPerSec  Optional[int64]
	WriteBytesPerSec Optional[int64]
	ReadsPerSec      Optional[int64]
	WritesPerSec     Optional[int64]
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
		var err error
		if v == 2 {
			err = readIOMax(dir, limits)
		} else {
			err = readThrottle(dir, limits)
		}
		if err != nil {
			return nil, err
		}
	}
	out := make([]IOLimit, 0, len(limits))
	for _, l := range limits {
		out = append(out, *l)
	}
	return out, nil
}

func readIOMax(dir string, limits map[Device]*IOLimit) error {
	b, err := readBounded(filepath.Join(dir, "io.max"))
	if errors.Is(err, ErrNoData) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := ParseIOMax(b, limits); err != nil {
		return fmt.Errorf("reading %s: %w", filepath.Join(dir, "io.max"), err)
	}
	return nil
}

// ParseIOMax parses "major:minor rbps=N wbps=max riops=N wiops=max" lines and
// tightens what limits holds.
func ParseIOMax(b []byte, limits map[Device]*IOLimit) error {
	return eachDeviceLine(b, func(dev Device, rest []byte) bool {
		for {
			var field []byte
			if field, rest = nextField(rest); len(field) == 0 {
				return true
			}
			key, value, _ := bytes.Cut(field, []byte{'='})
			if string(value) == "max" {
				continue
			}
			n, ok := parseCount(value)
			if !ok {
				return false
			}
			tighten(limits, dev, string(key), n)
		}
	})
}

// throttleFiles are the files of version 1 and the key of version 2 each
// stands for (Documentation/admin-guide/cgroup-v1/blkio-controller.rst).
var throttleFiles = []struct{ name, key string }{
	{"blkio.throttle.read_bps_device", "rbps"}, {"blkio.throttle.write_bps_device", "wbps"},
	{"blkio.throttle.read_iops_device", "riops"}, {"blkio.throttle.write_iops_device", "wiops"},
}

func readThrottle(dir string, limits map[Device]*IOLimit) error {
	for _, file := range throttleFiles {
		b, err := readBounded(filepath.Join(dir, file.name))
		if errors.Is(err, ErrNoData) {
			continue
		}
		if err != nil {
			return err
		}
		err = eachDeviceLine(b, func(dev Device, rest []byte) bool {
			field, _ := nextField(rest)
			n, ok := parseCount(field)
			if ok {
				tighten(limits, dev, file.key, n)
			}
			return ok
		})
		if err != nil {
			return fmt.Errorf("reading %s: %w", filepath.Join(dir, file.name), err)
		}
	}
	return nil
}

func eachDeviceLine(b []byte, visit func(dev Device, rest []byte) bool) error {
	return eachLine(b, "device limits", func(line []byte) bool {
		field, values := nextField(line)
		dev, ok := parseDevice(string(field))
		return ok && visit(dev, values)
	})
}

func tighten(limits map[Device]*IOLimit, dev Device, key string, n int64) {
	l := limits[dev]
	if l == nil {
		l = &IOLimit{Device: dev}
		limits[dev] = l
	}
	var dst *Optional[int64]
	switch key {
	case "rbps":
		dst = &l.ReadBytesPerSec
	case "wbps":
		dst = &l.WriteBytesPerSec
	case "riops":
		dst = &l.ReadsPerSec
	case "wiops":
		dst = &l.WritesPerSec
	default:
		return
	}
	if have, ok := dst.Get(); !ok || n < have {
		*dst = Some(n)
	}
}
