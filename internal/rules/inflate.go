package rules

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
)

// Speeds of undoing a filter, in bytes of decoded data per second and core.
var (
	gzipSpeed = threshold("gzip decode speed", 125e6, metric.BytesPerS,
		"measured: HDF5 1.10.8, 1.14.5 and 2.2.0, gzip level 4, chunks of 0.75 to 12 MiB: 115 to 131 MB/s on one "+
			"core (Debian)")
	fastSpeed = threshold("fast filter decode speed", 440e6, metric.BytesPerS,
		"measured: HDF5 1.10.8 to 2.2.0, lzf, one 48 KiB item per chunk: about 0.11 ms above an unfiltered read "+
			"(Debian)")
)

// decoding estimates which share of the CPU time of loading goes to undoing HDF5's filters: the bytes read, times how
// well the dataset compresses, at the speed measured for the filter. It is inferred from rates, not seen: 0 where they
// are missing.
func decoding(p *diagnose.Pass) float64 {
	bytes, ok := p.Maybe(metric.ReadBytes)
	cpu := cpuOf(p)
	if !ok || cpu <= 0 {
		return 0
	}
	bytes /= loaders(p)
	speed := gzipSpeed.Value // of gzip, szip, or unknown: gzip is h5py's usual one
	if fastFilter.MatchString(layoutOf(p).Filters) {
		speed = fastSpeed.Value
	}
	return share(bytes * compression(p) / speed / cpu)
}

// undone is which share of the loading time goes to undoing filters, between lo and hi. The hook timed reading: what is
// beyond a plain read of an item is the filters', or that of chunks read in vain. From outside it is what a worker was
// found to execute; else it is inferred, and the speed on the data itself is known to a factor of two.
func undone(p *diagnose.Pass, split loading) (lo, hi float64) {
	if lo, hi, ok := readBeyond(p); ok {
		return lo, hi
	}
	if lo, hi := decompresses(p); hi > 0 {
		return lo * split.running, hi * split.running
	}
	hi = decoding(p) * split.running
	return hi / 2, hi
}

// filterPart is the least of reading beyond a plain read that goes away with the filters, and firstRead what else stays
// where each item is a dataset of its own.
var (
	filterPart = threshold("part of reading that undoing filters takes, at the least", 0.9, metric.Ratio,
		"measured: gzip-4, 32 KiB items: 0.25 of 0.27 ms with one item per chunk, 16.3 of 16.8 ms with 64 (HDF5 "+
			"1.10.8, Debian)")
	firstRead = threshold("reading a small dataset for the first time since it was looked up, at the most", 36e-6,
		metric.Seconds,
		"measured: contiguous, 4 and 32 KiB: 21 to 36 µs (h5py 3.16, HDF5 2.0), 12 to 20 µs (h5py 3.7, HDF5 1.10.8, "+
			"Debian)")
)

// readBeyond is the share of an item's time that reading it takes beyond plain reads, as many as there are, waiting for
// storage left out; not ok where the hook timed no reading by h5py.
func readBeyond(p *diagnose.Pass) (lo, hi float64, ok bool) {
	m := madeOf(p)
	if m.read <= 0 {
		return 0, 0, false
	}
	split, _ := loadingOf(p)
	reads, bytes := max(p.OrZero(metric.MadeReads), 1), max(p.OrZero(metric.HDF5Item), 0)
	beyond := func(overhead float64) float64 {
		return max(m.read-(reads*overhead+bytes/plainSpeed.Value)/m.item-split.storage, 0)
	}
	hi = beyond(plainOverhead.Value)
	return min(filterPart.Value*hi, beyond(firstRead.Value)), hi, true
}

// readSaid says what reading takes of an item, where the hook timed it; "" elsewhere.
func readSaid(p *diagnose.Pass) string {
	m := madeOf(p)
	if m.read <= 0 {
		return ""
	}
	return fmt.Sprintf("; reading takes %s of the %s a worker needs for an item", unit.Percent(m.read),
		unit.Seconds(m.item))
}

// compression is the dataset's decoded over its stored size, at least 1; 1 where it is unknown.
func compression(p *diagnose.Pass) float64 {
	all, ok := decoded(p)
	stored := p.OrZero(metric.HDF5Stored)
	if !ok || stored <= 0 {
		return 1
	}
	return max(all/stored, 1)
}

// decoded is the size of the dataset's items without filters; false where it is unknown.
func decoded(p *diagnose.Pass) (float64, bool) {
	all, ok := p.Maybe(metric.HDF5Item)
	shape, item := digits.FindAllString(layoutOf(p).Shape, -1), digits.FindAllString(layoutOf(p).Item, -1)
	if len(item) != len(shape) { // not known: one of the first axis
		shape, item = shape[:min(1, len(shape))], []string{"1"}
	}
	for i := range shape {
		of, err := strconv.ParseFloat(shape[i], 64)
		by, err2 := strconv.ParseFloat(item[i], 64)
		if err != nil || err2 != nil || of <= 0 || by <= 0 {
			return 0, false
		}
		all *= of / by
	}
	return all, ok && len(shape) > 0
}

// chunks is how many chunks the dataset has, those at its edges included; 0 where it is unknown.
func chunks(p *diagnose.Pass) float64 {
	shape, chunk := digits.FindAllString(layoutOf(p).Shape, -1), digits.FindAllString(layoutOf(p).Chunk, -1)
	if len(shape) == 0 || len(shape) != len(chunk) {
		return 0
	}
	n := 1.0
	for i := range shape {
		of, err := strconv.ParseFloat(shape[i], 64)
		by, err2 := strconv.ParseFloat(chunk[i], 64)
		if err != nil || err2 != nil || by <= 0 {
			return 0
		}
		n *= math.Ceil(of / by)
	}
	return n
}

var (
	fastFilter = regexp.MustCompile(`(?i)lzf|lz4|zstd|blosc|bitshuffle`)
	digits     = regexp.MustCompile(`[0-9]+`)
)

// layoutOf is the layout of the HDF5 dataset; its zero value where it is unknown.
func layoutOf(p *diagnose.Pass) evidence.HDF5 {
	if f := p.Facts.HDF5; f != nil {
		return *f
	}
	return evidence.HDF5{}
}

// itemChunk is the chunk shape that holds one item: what a read delivers where that is known, else 1 on the first axis
// and all of the others; "" where the shape is unknown.
func itemChunk(p *diagnose.Pass) string {
	f := layoutOf(p)
	if f.Item != "" {
		return strings.Join(digits.FindAllString(f.Item, 32), "x")
	}
	axes := digits.FindAllString(f.Shape, 16)
	if len(axes) > 0 {
		axes[0] = "1"
	}
	return strings.Join(axes, "x")
}

// repack is the command that rewrites a dataset with one item per chunk; "" where its shape is unknown.
func repack(p *diagnose.Pass) string {
	if chunk := itemChunk(p); chunk != "" {
		return h5repack(p, "-l", "CHUNK="+chunk)
	}
	return ""
}

// h5repack is the command with pairs of an option and what it makes of the dataset; "" where its name is unknown.
func h5repack(p *diagnose.Pass, pairs ...string) string {
	name := layoutOf(p).Name
	if name == "" {
		return ""
	}
	command, which := "h5repack", strings.TrimPrefix(name, "/")+":"
	for pair := range slices.Chunk(pairs, 2) {
		if ofOwnDatasets(p) {
			if which = ""; pair[0] == "-l" { // for all of the file, in which others have other shapes
				return ""
			}
		}
		command += " " + pair[0] + " " + diagnose.ShellWord(which+pair[1])
	}
	return command + " " + inAndOut(p)
}

// inAndOut are the files of h5repack: the person's own and one beside it, where the dataset is one file.
func inAndOut(p *diagnose.Pass) string {
	name := p.Facts.Dataset
	ext := path.Ext(name)
	if !slices.Contains([]string{".h5", ".hdf5", ".hdf", ".he5", ".nc", ".mat"}, strings.ToLower(ext)) {
		return "in.h5 out.h5"
	}
	return diagnose.ShellWord(name) + " " + diagnose.ShellWord(strings.TrimSuffix(name, ext)+"-new"+ext)
}

// newChunk is the chunk to use, in the words of the report.
func newChunk(p *diagnose.Pass) string { return cmp.Or(itemChunk(p), "one item per chunk") }

func times(x float64) string { return strconv.FormatFloat(math.Round(x), 'f', 0, 64) + " times" }
