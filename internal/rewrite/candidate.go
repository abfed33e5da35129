package rewrite

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/benchmark"
	"github.com/pipetune/pipetune/internal/dataset"
)

const asIs = benchmark.AsIs

// leastChunk is the item below which no chunk of its own is tried: h5py's documentation recommends chunks between 10
// KiB and 1 MiB, and a rewrite would make millions of them, for each of which libhdf5 holds several KiB while it is
// written.
const leastChunk = 10 << 10

// mostRunChunks bounds a run's chunks: as many as the smallest items that get their own make of the largest sample.
const mostRunChunks = trySample / leastChunk

// candidate is another way to store the sample.
type candidate struct {
	name    string // as of a benchmark.Candidate
	command string // that makes it of the whole dataset; "" where no single one does
	plan    plan
	mind    string // what to mind about it; "" for nothing
}

// hdf5Candidates are the layouts that are tried, the present one first; the error is why none can be.
func (j *Job) hdf5Candidates(bytes int64) ([]candidate, error) {
	if j.Layout == nil || len(j.Sample.Files) == 0 || len(j.Sample.Items) == 0 {
		return nil, fmt.Errorf("the layout of the dataset is not known")
	}
	d := j.Layout.Dataset
	switch {
	case d.Storage != "contiguous" && d.Storage != "chunked" && d.Storage != "compact":
		return nil, fmt.Errorf("a dataset whose storage is %s is not rewritten", d.Storage)
	case d.ItemBytes == nil || *d.ItemBytes == 0 || len(d.Shape) == 0:
		return nil, fmt.Errorf("the items have no fixed size")
	case d.Shape[0] < 2:
		return nil, fmt.Errorf("each file holds one item: layouts inside of a file change little; packing the items " +
			"into one file would")
	}
	chunk := d.Chunk
	if d.Storage != "chunked" {
		chunk = nil
	}
	item := append([]int64{1}, d.Shape[1:]...)
	if len(j.Sample.ItemShape) == len(d.Shape) {
		item = j.Sample.ItemShape
	}
	each := float64(d.ElementBytes)
	for _, n := range item {
		each *= float64(n)
	}
	alone := each >= leastChunk
	run := j.runOf(chunk, *d.ItemBytes, bytes)
	of := func(chunk []int64, unfiltered bool) plan {
		r := run
		r.Relayout.Chunk, r.Relayout.Unfiltered = chunk, unfiltered
		return r
	}
	name := strings.TrimPrefix(d.Path.String(), "/")
	filtered := len(d.Filters) > 0
	list := []candidate{{name: asIs, plan: of(chunk, false)}}
	add := func(what string, chunk []int64, unfiltered bool, options ...string) {
		list = append(list, candidate{name: what, command: j.repack(name, options...), plan: of(chunk, unfiltered)})
	}
	byItem := "-l " + quote(name+":CHUNK="+dataset.Dimensions(item))
	none := "-f " + quote(name+":NONE")
	same := slices.Equal(chunk, item)
	if alone && !same {
		add("chunk-item", item, !filtered, byItem)
	}
	if filtered && (alone || same) {
		add("chunk-item-unfiltered", item, true, byItem, none)
	}
	if filtered && !same {
		add("unfiltered", chunk, true, none)
	}
	if chunk != nil {
		options := []string{"-l " + quote(name+":CONTI")}
		if filtered {
			options = append(options, none)
		}
		add("contiguous", nil, true, options...)
	}
	return list, nil
}

// runOf is what is rewritten: whole chunks of one file, from about the first item of the sample on.
func (j *Job) runOf(chunk []int64, item, bytes int64) plan {
	first := j.Sample.Items[0]
	rows := int64(1)
	if len(chunk) > 0 {
		rows = chunk[0]
	}
	count := max(1, bytes/item)
	if shape := j.Layout.Dataset.Shape; len(chunk) > 0 {
		count = min(count, rows*max(1, mostRunChunks/dataset.ChunksIn(append([]int64{1}, shape[1:]...), chunk)))
	}
	if count >= rows {
		count -= count % rows
	}
	start := first.Index - first.Index%rows
	if all := j.Layout.Dataset.Shape[0]; len(j.Sample.Files) == 1 && start+count > all {
		start = max(0, all-count)
		start -= start % rows
	}
	return plan{How: inHDF5, File: first.File, Seed: j.Seed, Relayout: dataset.Relayout{First: start, Count: count}}
}

// repack is the h5repack command for all files; "" where its own syntax uses a character of the name.
func (j *Job) repack(name string, options ...string) string {
	if strings.ContainsAny(name, ":,") || name == "" {
		return ""
	}
	how := "h5repack " + strings.Join(options, " ")
	if len(j.Sample.Files) == 1 {
		path := string(j.Sample.Files[0].Path)
		suffix := filepath.Ext(path)
		return fmt.Sprintf("%s %s %s", how, quote(path), quote(strings.TrimSuffix(path, suffix)+"-new"+suffix))
	}
	from := j.Sample.Folder()
	suffix := filepath.Ext(string(j.Sample.Files[0].Path))
	return fmt.Sprintf(`cd %s && find . -name %s -type f | while read -r f; do mkdir -p %s/"${f%%/*}" && %s "$f" %s/"$f"; done`,
		quote(from), quote("*"+suffix), quote(from+"-new"), how, quote(from+"-new"))
}

// pictureCandidates are the ways that pictures are tried in; counts is what writing them as they are reported.
func (j *Job) pictureCandidates(counts rewritten) []candidate {
	from := j.Sample.Folder()
	mostly := func(n int) bool { return 2*n > len(counts.Items) }
	var list []candidate
	add := func(name, how, command, mind string) {
		list = append(list, candidate{name: name, command: command, mind: mind,
			plan: plan{How: how, Items: counts.Items, Bytes: 1 << 62, Decode: how != "tar"}})
	}
	loses := func(name string) string {
		return "try: " + name + " loses detail for good: nothing for masks, depth maps or measurements, and to be " +
			"checked against accuracy before the originals go"
	}
	if mostly(counts.Lossless) {
		add("jpeg-90", "jpeg", each(from, from+"-jpeg", ""), loses("jpeg-90"))
	}
	if mostly(counts.Large) {
		add("resized-256", "resize", each(from, from+"-256", "k=256/min(i.size);i=i.resize([round(k*n) for n in "+
			"i.size],2) if k<1 else i;"), loses("resized-256"))
	}
	if mostly(counts.Lossless) {
		add("packed-npy", "npy", packing(from), "")
	}
	add("packed-tar", "tar", fmt.Sprintf("tar --sort=name -cf %s -C %s .", quote(from+".tar"), quote(from)), "")
	return list
}

// each is a command that writes every picture of a folder anew as a JPEG, with Pillow: a.jpg under its name, and a.png
// as a.png.jpg, as there may be both.
func each(from, to, change string) string {
	script := "import sys,pathlib\nfrom PIL import Image\ns,d=map(pathlib.Path,sys.argv[1:])\n" +
		`for p in s.rglob("*"):` + "\n" +
		`  if p.suffix.lower() in (".png",".bmp",".tif",".tiff",".webp",".jpg",".jpeg"):` + "\n" +
		`    i=Image.open(p).convert("RGB");` + change +
		`o=d/p.relative_to(s);o=o.with_name(o.name+".jpg"*(o.suffix.lower() not in (".jpg",".jpeg")));` +
		`o.parent.mkdir(parents=True,exist_ok=True);i.save(o,quality=90)`
	return "python3 -c " + dollar(script) + " " + quote(from) + " " + quote(to)
}

// packing is a command that packs a folder's pictures into one array, by NumPy and Pillow, through a mapping.
func packing(from string) string {
	script := "import sys,pathlib,numpy as n\nfrom PIL import Image\n" +
		`f=sorted(p for p in pathlib.Path(sys.argv[1]).rglob("*") if p.suffix.lower() in (".png",".bmp",".tif",".tiff",".webp"))` + "\n" +
		"a=n.asarray(Image.open(f[0]))\n" +
		`o=n.lib.format.open_memmap(sys.argv[2],"w+",a.dtype,(len(f),)+a.shape)` + "\n" +
		"for k,p in enumerate(f): o[k]=n.asarray(Image.open(p))"
	return "python3 -c " + dollar(script) + " " + quote(from) + " " + quote(from+".npy")
}

// dollar writes a script of several lines, without single quotes, as one word of one line.
func dollar(script string) string {
	return "$'" + strings.NewReplacer(`\`, `\x5c`, `'`, `\x27`, "\n", `\n`).Replace(script) + "'"
}
