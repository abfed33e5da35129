package procfs

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
)

// MappedFiles returns the distinct files mapped by the process for which keep
// is true, in the order of their addresses and at most limit of them: which
// libraries a job has loaded, with the version in the file's name. It takes the
// target's mmap lock for reading, so it is for discovery, not for the loop.
func (p *Process) MappedFiles(keep func(path string) bool, limit int) ([]string, error) {
	return readMaps(p, func(r io.Reader) ([]string, error) { return ParseMappedFiles(r, keep, limit) })
}

// readMaps has the process' maps parsed while they are read.
func readMaps[T any](p *Process, parse func(io.Reader) ([]T, error)) ([]T, error) {
	h, err := p.open("maps")
	if err != nil {
		return nil, err
	}
	defer h.close()
	found, err := parse(h)
	if err != nil {
		return nil, p.missing(classify(h.path, err))
	}
	return found, nil
}

// ParseMappedFiles is the parser of MappedFiles. Lines of another shape are
// passed over; a newline in a path arrives escaped as \012 and is restored.
func ParseMappedFiles(r io.Reader, keep func(path string) bool, limit int) ([]string, error) {
	var out []string
	seen := make(map[string]bool)
	err := eachMapping(r, func(line []byte) bool {
		slash := bytes.IndexByte(line, '/')
		if slash < 0 || seen[string(line[slash:])] {
			return true
		}
		raw := string(line[slash:])
		seen[raw] = true
		if path := unescapeOctal(raw); keep(path) {
			out = append(out, path)
		}
		return len(out) < limit
	})
	return out, err
}

// longestMapping is room for a line of maps: a path of PATH_MAX bytes, each escaped with four.
const longestMapping = 20 << 10

// eachMapping calls visit with each line until it returns false. It keeps one line at a time, since a process of torch
// has 150 kB of them. Longer ones are passed over.
func eachMapping(r io.Reader, visit func(line []byte) bool) error {
	lines := bufio.NewReaderSize(io.LimitReader(r, maxFileBytes), longestMapping)
	for {
		line, err := lines.ReadSlice('\n')
		whole := true
		for errors.Is(err, bufio.ErrBufferFull) {
			whole = false
			_, err = lines.ReadSlice('\n')
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if whole && len(line) > 0 && !visit(bytes.TrimSuffix(line, newline)) || err != nil {
			return nil
		}
	}
}

// escaped is what the kernel writes for a blank, tab, newline, backslash or '#' (seq_path, mangle_path).
var escaped = regexp.MustCompile(`\\[0-3][0-7]{2}`)

// unescapeOctal restores these bytes.
func unescapeOctal(s string) string {
	return escaped.ReplaceAllStringFunc(s, func(octal string) string {
		b, _ := strconv.ParseUint(octal[1:], 8, 8)
		return string([]byte{byte(b)})
	})
}
