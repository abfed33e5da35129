package rules

import (
	"fmt"
	"strings"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
)

// inUserCode is how much of a worker's CPU time is not the kernel's, at the least: libraries are told as shares of
// that.
var inUserCode = diagnose.Limit{Name: "CPU time of a worker in user code, at the least", Value: 0.8,
	Unit: metric.Ratio, Source: "measured: 96 % of workers that inflate HDF5 or .npz, 84 % of those that open a tar " +
		"archive for each item (/proc/PID/stat, Debian)"}

// Libraries by what they do, by the beginnings of their names as metric.WorkerCode has them.
const (
	decompress = "libz zlib libdeflate libisal libzstd liblz4 libbz2 liblzma libsnappy libbrotli libblosc blosc " +
		"libh5blosc numcodecs libaec libsz isal _bz2 _lzma"
	decodePictures = "libjpeg libturbojpeg libpng libwebp libtiff libopenjp2 PIL cv2 libopencv_imgcodecs"
	readHDF5       = "libhdf5 h5py"
)

// executed is the share of a worker's user code that is of libraries with one of these names; 0 where it is not known.
func executed(p *diagnose.Pass, names string) (part float64) {
	for _, c := range p.Evidence.Facts.Code {
		for name := range strings.FieldsSeq(names) {
			if strings.HasPrefix(c.Library, name) {
				part += c.Share
				break
			}
		}
	}
	return part
}

// inLibraries says in which code a worker computes, the two that take most: " (62 % in libjpeg, 20 % in Python)"; ""
// where that is not known.
func inLibraries(p *diagnose.Pass) string {
	const shown, least = 2, 0.1
	var said []string
	for _, c := range p.Evidence.Facts.Code {
		if len(said) < shown && c.Share >= least && c.Library != metric.CodeOther {
			said = append(said, fmt.Sprintf("%s in %s", unit.Percent(c.Share), c.Library))
		}
	}
	if len(said) == 0 {
		return ""
	}
	return " (" + strings.Join(said, ", ") + ")"
}
