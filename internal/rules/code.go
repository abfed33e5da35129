package rules

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
)

// sampled is how many samples tell how much of the time a worker executes a library.
var sampled = threshold("samples of a worker's code, at the least", evidence.EnoughCode, metric.Count,
	"derived: of 400 a share of a half lies within 0.45 and 0.55 19 times in 20")

// Libraries by what they do, by their names as metric.WorkerCode has them.
var (
	decompress = strings.Fields("libz zlib libdeflate libisal libzstd liblz4 libbz2 liblzma libsnappy libbrotlidec " +
		"libblosc libblosc2 blosc blosc2 libh5blosc libh5bshuf libh5lz4 libh5zstd libaec libsz numcodecs isal lz4 " +
		"zstandard cramjam _bz2 _lzma _zstd")
	codecs = strings.Fields("libjpeg libturbojpeg libpng16 libpng libwebp libtiff libopenjp2 libavif " +
		"libopencv_imgcodecs")
	besideCodecs = strings.Fields("PIL cv2 libz")
)

// executed is the share of what workers compute, the programs that they run included, in libraries with these names,
// or in the kernel; 0 where it is not known.
func executed(p *diagnose.Pass, names ...string) (part float64) {
	for _, c := range p.Facts.Code {
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

// decompresses is the share of what workers compute that decompresses, other data than pictures, between lo and hi: of
// what the kernel does, reading and giving memory, some is for that, and no more than decompressing itself takes. Both
// are 0 where it is little or not known.
func decompresses(p *diagnose.Pass) (lo, hi float64) {
	part := executed(p, decompress...)
	if part < leastExecuted || executed(p, codecs...) >= leastExecuted {
		return 0, 0
	}
	off := 2 * math.Sqrt(part*(1-part)/p.Limit(sampled))
	return max(part-off, 0), share(part + off + min(part, executed(p, metric.CodeKernel)))
}

// decodesMostly reports whether most of what a worker executes decodes pictures.
func decodesMostly(p *diagnose.Pass) bool {
	codec := executed(p, codecs...)
	return codec >= leastExecuted && codec+executed(p, besideCodecs...) >= diagnose.Most.Value
}

// inLibraries says in which code a worker computes, the two that take most: " (62 % in libjpeg, 20 % in Python)"; ""
// where that is not known.
func inLibraries(p *diagnose.Pass) string {
	const shown, least = 2, 0.1
	var said []string
	for _, c := range p.Facts.Code {
		if part := c.Share * ownCode(p); len(said) < shown && part >= least && c.Library != metric.CodeOther {
			said = append(said, fmt.Sprintf("%s in %s", unit.Percent(part), c.Name()))
		}
	}
	if len(said) == 0 {
		return ""
	}
	return " (" + strings.Join(said, ", ") + ")"
}
