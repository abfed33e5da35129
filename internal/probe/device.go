package probe

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/pipetune/pipetune/internal/benchmark"
	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/internal/storage"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// What device reads beside the size of an item.
const (
	leastBlock = 4 << 10 // the smallest block of the file systems in use
	// larger items are read in several requests by the kernel too (max_sectors_kb is 1280 by default)
	mostBlock  = 1 << 20
	deeperPays = 0.05                   // a depth counts as faster from here on
	callTakes  = 250 * time.Millisecond // one call: 16 slices of 15 ms
	leastTakes = 100 * time.Millisecond
	// caches of disks hold up to 512 MB, those of RAID controllers some GB: below this they can hold it all
	smallSample  = 1 << 30
	storedDirect = 0.5 // of the bytes that direct reads brought, the share that must have come from storage
	// of the pages, the share that may stay in the page cache for buffered reads to count as the storage's
	droppedEnough = 0.05
)

// directWork reads blocks of files as fast as the storage gives them.
var directWork = work[storage.Request, storage.Result]{"direct",
	func(ctx context.Context, w *state, q storage.Request) (storage.Result, error) {
		return storage.Read(ctx, &w.Sample, q)
	}}

// device measures what the storage gives at best: blocks of an item's size in random order, and 1 MiB in sequence, past
// the page cache, with more and more requests in flight until that brings nothing any more.
func device(ctx context.Context, s *session) error {
	for _, f := range s.sample.Files {
		if f.Unsure != "" {
			s.abstain(report.ProbeDevice, storage.Unsure(f.Unsure), "")
			return nil
		}
	}
	sample := &s.sample
	if sample.Follow { // the data may lie in other files than those that name it, on another device
		all := s.sample
		all.Files = s.sample.All()
		sample = &all
	}
	block := min(max(s.itemBlock(), leastBlock), mostBlock)
	d := &devicePlan{session: s, sample: sample, process: s.process(sample, callTakes), calls: 2 * len(depths),
		whole: s.sample.Kind == dataset.Image || mostlyBelow(sample, block), skip: map[bool]int64{}}
	defer d.process.close()
	for _, q := range []storage.Request{{Block: block}, {Block: mostBlock, Sequential: true}} {
		var c depthSearch
		for i, depth := range depths {
			q.Depth = depth
			rate, err := d.measure(ctx, q)
			if err != nil {
				return err
			}
			if c.over(rate) || ctx.Err() != nil {
				d.calls -= len(depths) - 1 - i
				break
			}
		}
	}
	d.remark()
	return nil
}

type depthSearch struct {
	best float64
	idle int // depths in a row that brought nothing
}

// over reports whether two depths in a row brought less than deeperPays more than the best before them.
func (c *depthSearch) over(rate float64) bool {
	if rate < c.best*(1+deeperPays) {
		c.idle++
	} else {
		c.idle = 0
	}
	c.best = max(c.best, rate)
	return c.idle == 2
}

// depths are the numbers of requests in flight that are tried.
var depths = []int{1, 2, 4, 8, 16, 32, 64}

// itemBlock is how many bytes of storage one item takes, or where that is not known, what reading it delivered.
func (s *session) itemBlock() int64 {
	if size := s.middleBytes(); size > 0 {
		return size
	}
	if l := s.options.Layout; l != nil && l.Dataset.ItemBytes != nil && len(s.sample.ItemShape) == 0 {
		return *l.Dataset.ItemBytes
	}
	for _, r := range s.result.Rows.Reads {
		if r.Bytes.N > 0 {
			return int64(r.Bytes.Center)
		}
	}
	return dataset.DefaultBlockBytes
}

// middleBytes is the median size of items that are files, members of an archive or raw blocks; 0 for others.
func (s *session) middleBytes() int64 {
	switch s.sample.Kind {
	case dataset.Other:
		if s.sample.BlockBytes > 0 {
			return s.sample.BlockBytes
		}
		return dataset.DefaultBlockBytes
	case dataset.Image, dataset.Tar:
	default:
		return 0
	}
	var sizes []int64
	for _, item := range s.sample.Items {
		switch {
		case item.Bytes > 0:
			sizes = append(sizes, item.Bytes)
		case item.File >= 0 && item.File < len(s.sample.Files):
			sizes = append(sizes, s.sample.Files[item.File].Bytes)
		}
	}
	if len(sizes) == 0 {
		return 0
	}
	slices.Sort(sizes)
	return sizes[len(sizes)/2]
}

// mostlyBelow reports whether most files are shorter than a block: then a read is a file.
func mostlyBelow(sample *dataset.Sample, block int64) bool {
	below := 0
	for _, f := range sample.Files {
		if f.Bytes < block {
			below++
		}
	}
	return 2*below > len(sample.Files)
}

type devicePlan struct {
	*session
	sample   *dataset.Sample // the session's, with all files that are read
	process  *process
	whole    bool
	buffered bool           // O_DIRECT was refused
	calls    int            // measurements still to make, at most
	from     int            // in the sample's Files: where the next window begins
	skip     map[bool]int64 // Request.Skip of the next call, by Request.Sequential
	held     int64          // bytes of the files read
	mode     string
}

// measure reads at one depth until the rate is known well enough, and returns it in bytes per second.
func (d *devicePlan) measure(ctx context.Context, q storage.Request) (float64, error) {
	share := d.time.part(1 / float64(max(1, d.calls)))
	d.calls--
	q.Whole, q.Seed = d.whole, d.options.Seed
	q.Seconds = max(leastTakes, min(callTakes, share.left()/2)).Seconds()
	var all []storage.Slice
	var last storage.Result
	mode := benchmark.Direct
	for {
		got, err := d.call(ctx, q)
		if err != nil {
			return 0, err
		}
		all, last = append(all, got.Slices...), got
		if m := modeOf(d.buffered, got); m != benchmark.Direct && mode != benchmark.PageCache {
			mode = m
		}
		if precise(rateOf(all, bytesOf)) || share.left() == 0 {
			break
		}
	}
	if d.mode != benchmark.PageCache {
		d.mode = mode
	}
	block := last.Block
	if middle := d.middleBytes(); d.whole && middle > 0 {
		block = min(block, middle) // a file is read whole, and ends before the block does
	}
	rate, order := rateOf(all, bytesOf), random
	if q.Sequential {
		order = sequential
	}
	d.result.Rows.Devices = append(d.result.Rows.Devices, benchmark.Device{Depth: int64(q.Depth), Block: block,
		Order: order, Mode: mode, Reads: rateOf(all, readsOf), Bytes: rate, Time: waitOf(all)})
	return rate.Center, nil
}

// call makes one call, on the next window of files. O_DIRECT refused turns to buffered reads for good.
func (d *devicePlan) call(ctx context.Context, q storage.Request) (storage.Result, error) {
	q.Files = d.window()
	if len(d.sample.Files) <= storage.MostFiles { // else the window moves on and the order restarts
		q.Skip = d.skip[q.Sequential]
	}
	q.Buffered = d.buffered
	got, err := directWork.ask(ctx, d.process, q)
	if err == nil && got.Refused && !d.buffered {
		d.buffered, q.Buffered = true, true
		got, err = directWork.ask(ctx, d.process, q)
	}
	switch {
	case err != nil:
		return got, err
	case got.Refused:
		return got, fmt.Errorf("reading the files through the page cache was refused")
	case len(got.Slices) == 0:
		return got, fmt.Errorf("no read of %d bytes came back within %v", got.Block, storage.SlowestRead)
	}
	d.skip[q.Sequential] = got.Next
	for _, f := range got.Failures {
		d.blame(string(d.sample.Files[f.File].Path), f.Class, f.Text, false)
	}
	d.held = max(d.held, got.Bytes)
	return got, nil
}

// window is the next files to read, going round.
func (d *devicePlan) window() []int {
	n := len(d.sample.Files)
	out := make([]int, min(n, storage.MostFiles))
	for i := range out {
		out[i] = (d.from + i) % n
	}
	if n > storage.MostFiles {
		d.from = (d.from + storage.MostFiles) % n
	}
	return out
}

func modeOf(buffered bool, got storage.Result) string {
	switch {
	case !buffered && (got.Stored == nil || *got.Stored >= storedDirect):
		return benchmark.Direct
	case buffered && got.Cached != nil && *got.Cached <= droppedEnough:
		return benchmark.Buffered
	}
	return benchmark.PageCache
}

func readsOf(s storage.Slice) float64 { return float64(s.Reads) }
func bytesOf(s storage.Slice) float64 { return float64(s.Bytes) }

func rateOf(all []storage.Slice, what func(storage.Slice) float64) stat.Summary {
	return over(all, what, func(s storage.Slice) float64 { return s.Seconds })
}

func waitOf(all []storage.Slice) stat.Summary {
	return over(all, func(s storage.Slice) float64 { return s.Waited }, readsOf)
}

func (d *devicePlan) remark() {
	switch {
	case d.mode == benchmark.PageCache && d.buffered:
		d.warn("device: this file system refuses direct reads, and whether its files' pages left the page cache " +
			"could not be verified: these are figures of a cache")
	case d.mode == benchmark.PageCache:
		d.warn("device: the kernel fetched little or nothing from storage for these direct reads: the file system " +
			"keeps its files in memory (tmpfs) or in a cache of its own")
	case d.mode == benchmark.Buffered:
		d.warn("device: this file system refuses direct reads: read through the page cache, dropped before and " +
			"verified")
	}
	if d.mode == benchmark.Direct && d.held < smallSample {
		d.warn("device: a sample of " + unit.Bytes(float64(d.held)) + " fits into a cache of the device itself, " +
			"which may have served a part")
	}
}
