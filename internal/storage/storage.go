// Package storage reads blocks of a dataset's files past the page cache, as fast as what they lie on gives them, and
// tells what the kernel knows of their place: how much of them the page cache holds, how far it reads ahead, what was
// fetched from storage, and whether they lie on another machine.
//
// It promises that files are opened for reading only, that what it drops from the page cache is stored, and that what
// the kernel does not tell is absent, with the reason. It is meant for processes that may be stuck with the storage:
// nothing here is bounded in time but Read.
package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/dataset"
)

// Request asks for blocks of files, with so many requests in flight.
type Request struct {
	Files []int // positions in the sample's Files; at most MostFiles
	Block int64 // bytes of one request, rounded up to what the file system asks for; a shorter file is read whole
	Whole bool  // read whole files, in pieces of at most Block
	// in the order of the files; else in a random order that takes each block once before any comes again
	Sequential bool
	Seed       uint64
	Skip       int64   // so many blocks of that order were read before
	Depth      int     // requests in flight
	Seconds    float64 // how long to read
	// Buffered reads through the page cache, with the files' pages dropped first, and each block once at most.
	Buffered bool
}

// MostFiles is how many files are read at once: each has an open descriptor.
const MostFiles = 512

// Result is what came of a Request.
type Result struct {
	Refused bool    // O_DIRECT is not to be had here; nothing was read
	Slices  []Slice // in order of time, warm-up left out
	Block   int64   // bytes of one request, as it was made
	Bytes   int64   // what the files hold in all
	Next    int64   // Skip for the next call
	// Stored is what share of the bytes the kernel counted as fetched from storage; nil: /proc/self/io may not be read.
	Stored *float64
	// Cached is the share of the files' pages in the page cache when buffered reads began; nil: unknown.
	Cached   *float64
	Failures []dataset.Failure `json:",omitempty"` // one for a file
}

// Slice is a stretch of time with the queue full.
type Slice struct {
	Reads   int
	Bytes   int64
	Seconds float64
	Waited  float64 // seconds, summed over the requests, from asking to having
}

// SlowestRead is how long one read is waited for: from a slow network disk.
const SlowestRead = 20 * time.Second

// Read reads blocks of a sample's files for as long as was asked, or until ctx ends. Files that cannot be read are
// Failures; the error says that nothing could be.
func Read(ctx context.Context, sample *dataset.Sample, q Request) (Result, error) {
	if q.Depth < 1 || q.Depth > 1024 || q.Block < 1 || q.Block > 64<<20 || len(q.Files) > MostFiles || q.Skip < 0 ||
		q.Seconds <= 0 {
		return Result{}, fmt.Errorf("asked for %d blocks of %d bytes at once from %d files for %v s", q.Depth,
			q.Block, len(q.Files), q.Seconds)
	}
	if err := sample.HasFiles(q.Files); err != nil {
		return Result{}, err
	}
	b := &extents{Request: q, align: minAlign}
	defer b.close()
	for _, i := range q.Files {
		err := b.add(sample.Files[i], i)
		if err != nil && !q.Buffered && refusesDirect(err) {
			return Result{Refused: true}, nil
		}
		if err != nil {
			b.fail(i, sample.Files[i].Path, err)
		}
	}
	return b.read(ctx, sample)
}

// refusesDirect reports whether an error means that a file cannot be read past the page cache: open(2) gives EINVAL,
// FUSE and others EOPNOTSUPP, and a file system that only finds out when it reads gives EINVAL then.
func refusesDirect(err error) bool {
	return errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EOPNOTSUPP)
}

// minAlign is taken where the kernel does not say what alignment direct reads need (statx has STATX_DIOALIGN since
// 6.1): no device in use has larger logical blocks.
const minAlign = 4096

func (b *extents) close() {
	for _, s := range b.open {
		_ = s.f.Close() // read-only: nothing is lost
	}
}

func (b *extents) add(f dataset.File, at int) error {
	file, size, err := dataset.OpenRegular(string(f.Path), 0)
	if err != nil {
		return err
	}
	if size == 0 {
		return errors.Join(errors.New("it is empty"), file.Close())
	}
	if !b.Buffered {
		through, align, err := openDirect(file)
		_ = file.Close() // read-only: nothing is lost
		if err != nil {
			return err
		}
		file, b.align = through, max(b.align, align)
	}
	b.open = append(b.open, source{f: file, file: at, path: f.Path, bytes: size})
	return nil
}

// openDirect opens a file once more, past the page cache, and asks what its offsets and lengths must be multiples of.
func openDirect(file *os.File) (*os.File, int64, error) {
	f, err := os.OpenFile(fdPath(int(file.Fd())), os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_DIRECT, 0)
	if err != nil {
		return nil, 0, fmt.Errorf("opening it past the page cache: %w", err)
	}
	var at unix.Statx_t
	err = unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_DIOALIGN, &at)
	switch {
	case err != nil || at.Mask&unix.STATX_DIOALIGN == 0: // an older kernel, or a file system that does not say
		return f, minAlign, nil
	case at.Dio_offset_align == 0:
		return nil, 0, errors.Join(fmt.Errorf("opening it past the page cache: %w", unix.EINVAL), f.Close())
	}
	return f, int64(at.Dio_offset_align), nil
}

// read reads until the time is up, by asynchronous I/O or, without it, with a thread for each request in flight.
func (b *extents) read(ctx context.Context, sample *dataset.Sample) (Result, error) {
	if len(b.open) == 0 {
		return Result{}, fmt.Errorf("none of the files could be opened: %s", b.out.Failures[0].Text)
	}
	b.layOut()
	if b.Buffered {
		b.out.Cached = Resident(sample, b.Files, true).Ratio()
	}
	before := Used()
	takes := time.Duration(b.Seconds * float64(time.Second))
	m := &meter{takes: takes, length: takes / slicesPerCall}
	err := errNoAIO
	if !b.Buffered { // reads through the page cache wait inside of io_submit: threads are needed for these
		err = b.readQueued(ctx, m)
	}
	if errors.Is(err, errNoAIO) {
		err = b.readThreaded(ctx, m)
	}
	if err != nil && !b.Buffered && refusesDirect(err) {
		return Result{Refused: true}, nil
	}
	if err != nil {
		return Result{}, err
	}
	if _, io := Used().Since(before); io != nil && m.bytes > 0 {
		b.out.Stored = new(float64(io.Stored) / float64(m.bytes))
	}
	b.out.Next = b.Skip + m.next
	b.out.Slices = m.cut()
	return b.out, nil
}

// hugePage is the size and alignment of the pages that the kernel has to pin one of for a request, in place of 32 for
// 128 KiB: pinning was a quarter of a read's CPU time.
const hugePage = 2 << 20

// buffers maps memory for a queue, aligned as every device wants it. free gives it back.
func (b *extents) buffers() (memory []byte, free func(), err error) {
	size := int(roundUp(int64(b.Depth)*b.Block, hugePage))
	whole, err := unix.Mmap(-1, 0, size+hugePage, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, nil, fmt.Errorf("mapping %d bytes of buffers: %w", size, err)
	}
	skip := -int(uintptr(unsafe.Pointer(&whole[0]))) & (hugePage - 1)
	memory = whole[skip : skip+size]
	_ = unix.Madvise(memory, unix.MADV_HUGEPAGE) // where there are none, reads cost what they cost
	for at := 0; at < size; at += os.Getpagesize() {
		memory[at] = 1 // now, and not in the middle of a read
	}
	return memory, func() { _ = unix.Munmap(whole) }, nil
}

// take gives the next block; not ok at the end of time or, with buffered reads, of the blocks.
func (b *extents) take(ctx context.Context, m *meter, now time.Time) (block, bool) {
	n := b.Skip + m.next
	if now.After(m.ends) || b.Buffered && m.next >= b.total || ctx.Err() != nil {
		return block{}, false
	}
	m.next++
	return b.at(n), true
}

// mostMisses is how many blocks may fail before reading is given up: a disk that reports errors takes seconds for each.
const mostMisses = 8

// missed takes the error of a request and gives it back when reading is to end with it. The file is named once.
func (b *extents) missed(what block, n int64, err error) error {
	at := b.open[what.file].file
	err = fmt.Errorf("reading at %d: %w", what.offset, err)
	if n == 0 {
		err = fmt.Errorf("%w: nothing at %d", io.ErrUnexpectedEOF, what.offset)
	}
	b.misses++
	if refusesDirect(err) || b.misses > mostMisses {
		return err
	}
	if !slices.ContainsFunc(b.out.Failures, func(f dataset.Failure) bool { return f.File == at }) {
		b.fail(at, b.open[what.file].path, err)
	}
	return nil
}

func (b *extents) fail(file int, path []byte, err error) {
	f := dataset.Failed(-1, err, path)
	f.File = file
	b.out.Failures = append(b.out.Failures, f)
}

func (b *extents) readQueued(ctx context.Context, m *meter) error {
	q, err := newQueue(b.Depth)
	if err != nil {
		return err
	}
	memory, free, err := b.buffers()
	if err != nil {
		q.close()
		return err
	}
	defer func() {
		q.close() // before the buffers go: the kernel may still be writing there
		free()
	}()
	now := m.start()
	fill := func(slot int) {
		if next, ok := b.take(ctx, m, now); ok {
			q.put(slot, next, int(b.open[next.file].f.Fd()), memory[slot*int(b.Block):(slot+1)*int(b.Block)])
		}
	}
	for slot := range b.Depth {
		fill(slot)
	}
	if err := q.submit(now); err != nil {
		return err
	}
	for q.flying > 0 {
		events, err := q.wait()
		if err != nil {
			return err
		}
		now = time.Now()
		for _, e := range events {
			slot := int(e.data)
			if e.result > 0 {
				m.count(e.result, now.Sub(q.sent[slot]))
			} else if err := b.missed(q.blocks[slot], e.result, unix.Errno(-e.result)); err != nil {
				return err
			}
			fill(slot)
			if err := q.submit(now); err != nil { // one by one: the device has work while the next is prepared
				return err
			}
		}
		m.tick(now)
	}
	return nil
}

func (b *extents) readThreaded(ctx context.Context, m *meter) error {
	memory, free, err := b.buffers()
	if err != nil {
		return err
	}
	defer free()
	var wait sync.WaitGroup
	var turn sync.Mutex
	var first error
	begin := m.start()
	for thread := range b.Depth {
		wait.Go(func() {
			buf, now := memory[thread*int(b.Block):(thread+1)*int(b.Block)], begin
			for {
				turn.Lock()
				next, ok := b.take(ctx, m, now)
				turn.Unlock()
				if !ok {
					return
				}
				sent := time.Now()
				n, err := unix.Pread(int(b.open[next.file].f.Fd()), buf[:next.length], next.offset)
				now = time.Now()
				turn.Lock()
				if n > 0 {
					m.count(int64(n), now.Sub(sent))
					m.tick(now)
				} else if err := b.missed(next, int64(n), err); err != nil && first == nil {
					first = err
				}
				stop := first != nil
				turn.Unlock()
				if stop {
					return
				}
			}
		})
	}
	wait.Wait()
	return first
}
