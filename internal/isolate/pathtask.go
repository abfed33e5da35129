package isolate

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

const (
	maxEntries = 10_000 // with 255-byte names in base64 about 3.6 MB, below one line's limit
	maxHead    = 65_536
)

// servePath is the child's side of Paths.
func servePath(_ context.Context, asked pathRequest) (any, error) {
	path := string(asked.Path)
	switch asked.Op {
	case "stat":
		return stat(path, unix.Stat)
	case "lstat":
		return stat(path, unix.Lstat)
	case "statfs":
		return Statfs(path)
	case "readdir":
		return readDir(path, asked.Limit)
	case "head":
		return head(path, asked.Limit)
	}
	return nil, fmt.Errorf("no path operation %q", asked.Op)
}

func stat(path string, call func(string, *unix.Stat_t) error) (FileInfo, error) {
	var st unix.Stat_t
	if err := Persist(func() error { return call(path, &st) }); err != nil {
		return FileInfo{}, fmt.Errorf("stat: %w", err)
	}
	return FileInfo{Mode: st.Mode}, nil
}

// Statfs is Paths.Statfs without a child, for a path that cannot hang.
func Statfs(path string) (FileSystem, error) {
	var st unix.Statfs_t
	if err := Persist(func() error { return unix.Statfs(path, &st) }); err != nil {
		return FileSystem{}, fmt.Errorf("statfs: %w", err)
	}
	block := uint64(st.Bsize)
	return FileSystem{Type: int64(st.Type), TotalBytes: st.Blocks * block, FreeBytes: st.Bfree * block}, nil
}

// readDir reads names straight from getdents64(2) and never stats an entry: what the file system does not say about
// an entry's type stays unknown.
func readDir(path string, limit int) (Listing, error) {
	fd, err := openQuietly(path, unix.O_DIRECTORY)
	if err != nil {
		return Listing{}, fmt.Errorf("open: %w", err)
	}
	defer unix.Close(fd)
	listing := Listing{Entries: []Entry{}}
	buffer := make([]byte, 32<<10)
	for {
		var n int
		if err := Persist(func() (err error) { n, err = unix.Getdents(fd, buffer); return err }); err != nil {
			return Listing{}, fmt.Errorf("readdir: %w", err)
		}
		if n == 0 {
			return listing, nil
		}
		for entry, rest, ok := NextEntry(buffer[:n]); ok; entry, rest, ok = NextEntry(rest) {
			if entry.Self() {
				continue
			}
			if len(listing.Entries) == limit {
				listing.More = true
				return listing, nil
			}
			entry.Name = bytes.Clone(entry.Name)
			listing.Entries = append(listing.Entries, entry)
		}
	}
}

// NextEntry decodes one struct linux_dirent64 (getdents(2)): inode 8 bytes, offset 8, record length 2, type 1, name up
// to a NUL. The name lies in raw. It is not ok when raw does not begin with a whole one.
func NextEntry(raw []byte) (e Entry, rest []byte, ok bool) {
	const head = 19
	if len(raw) <= head {
		return Entry{}, nil, false
	}
	length := int(binary.NativeEndian.Uint16(raw[16:]))
	if length <= head || length > len(raw) {
		return Entry{}, nil, false
	}
	end := bytes.IndexByte(raw[head:length], 0)
	if end < 1 {
		return Entry{}, nil, false
	}
	return Entry{Name: raw[head : head+end], Type: raw[18]}, raw[length:], true
}

// Self says whether an entry is the folder itself or the one above it.
func (e Entry) Self() bool { return string(e.Name) == "." || string(e.Name) == ".." }

func head(path string, n int) ([]byte, error) {
	fd, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	buffer := make([]byte, min(n, maxHead))
	got := 0
	for got < len(buffer) {
		var k int
		err := Persist(func() (err error) { k, err = unix.Pread(fd, buffer[got:], int64(got)); return err })
		if err != nil {
			return nil, fmt.Errorf("read: %w", err)
		}
		if k == 0 {
			break
		}
		got += k
	}
	return buffer[:got], nil
}

// openRegular opens a regular file for reading. It looks first through an O_PATH descriptor, which neither waits for
// a FIFO's writer nor wakes a device's driver.
func openRegular(path string) (fd int, err error) {
	var place int
	err = Persist(func() (err error) { place, err = unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0); return err })
	if err != nil {
		return -1, fmt.Errorf("open: %w", err)
	}
	defer unix.Close(place)
	var st unix.Stat_t
	if err := Persist(func() error { return unix.Fstat(place, &st) }); err != nil {
		return -1, fmt.Errorf("stat: %w", err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return -1, fmt.Errorf("open: not a regular file: %w", unix.EINVAL)
	}
	if fd, err = openQuietly("/proc/self/fd/"+strconv.Itoa(place), 0); err != nil {
		return -1, fmt.Errorf("open: %w", err)
	}
	return fd, nil
}

// openQuietly opens for reading without changing the access time where the file's owner is us.
func openQuietly(path string, flags int) (int, error) {
	flags |= unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NONBLOCK | unix.O_NOCTTY
	var fd int
	open := func(flags int) error {
		return Persist(func() (err error) { fd, err = unix.Open(path, flags, 0); return err })
	}
	err := open(flags | unix.O_NOATIME)
	if errors.Is(err, unix.EPERM) { // not the owner: the access time changes as it would for anyone
		err = open(flags)
	}
	return fd, err
}

// Persist repeats a call that a signal interrupted; the Go runtime sends itself such signals all the time.
func Persist(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
