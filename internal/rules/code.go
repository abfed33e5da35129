package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
)

// inUserCode is how much of a worker's CPU time is not the kernel's, at the least: libraries are told as shares of
// that.
var inUserCode = diagnose.Limit{Name: "CPU time of a worker in user code, at the least", Value: 0.6,
	Unit: metric.Ratio, Source: "measured: 96 % of workers that inflate HDF5 or .npz, 84 % of those that open a tar " +
		"archive for each item (/proc/PID/stat, Debian); the rest is room for file systems that cost more"}

// Libraries by what they do, by their names as metric.WorkerCode has them.
var (
	decompress = strings.Fields("libz zlib libdeflate libisal libzstd liblz4 libbz2 liblzma libsnappy libbrotlidec " +
		"libblosc libblosc2 blosc blosc2 libh5blosc libh5bshuf libh5lz4 libh5zstd libaec libsz numcodecs isal lz4 " +
		"zstandard cramjam _bz2 _lzma _zstd")
	codecs = strings.Fields("libjpeg libturbojpeg libpng16 libpng libwebp libtiff libopenjp2 libavif " +
		"libopencv_imgcodecs")
	besideCodecs = strings.Fields("PIL cv2 libz")
)

// executed is the share of what workers compute, the programs that they run included, in libraries with these names; 0
// where it is not known.
func executed(p *diagnose.Pass, names ...string) (part float64) {
	for _, c := range p.Evidence.Facts.Code {
		if slices.Contains(names, c.Library) {
			part += c.Share * ownCode(p)
		}
	}
	return part
}

// ownCode is the part of what workers compute that their main threads do, whose code is seen, and no other thread or
// program.
func ownCode(p *diagnose.Pass) float64 {
	own := p.OrZero(metric.WorkerRunning)
	others := p.OrZero(metric.WorkerOwnThreads) + p.OrZero(metric.WorkerPrograms)
	if others <= 0 {
		return 1
	}
	return own / (own + others)
}

// leastExecuted is the share of samples below which a library says nothing.
const leastExecuted = 0.05

// decompresses is the share of a worker's user code that decompresses, other data than pictures; 0 where that is little
// or not known.
func decompresses(p *diagnose.Pass) float64 {
	if part := executed(p, decompress...); part >= leastExecuted && executed(p, codecs...) < leastExecuted {
		return part
	}
	return 0
}

// decodesMostly reports whether most of what a worker executes decodes pictures.
func decodesMostly(p *diagnose.Pass) bool {
	codec := executed(p, codecs...)
	return codec >= leastExecuted && codec+executed(p, besideCodecs...) >= mostLimit.Value
}

// inLibraries says in which code a worker computes, the two that take most: " (62 % in libjpeg, 20 % in Python)"; ""
// where that is not known.
func inLibraries(p *diagnose.Pass) string {
	const shown, least = 2, 0.1
	var said []string
	for _, c := range p.Evidence.Facts.Code {
		if part := c.Share * ownCode(p); len(said) < shown && part >= least && c.Library != metric.CodeOther {
			said = append(said, fmt.Sprintf("%s in %s", unit.Percent(part), c.Library))
		}
	}
	if len(said) == 0 {
		return ""
	}
	return " (" + strings.Join(said, ", ") + ")"
}
