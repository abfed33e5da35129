package procfs

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// MappedFiles returns the distinct files mapped by the process for which keep
// is true, in the order of their addresses and at most limit of them: which
// libraries a job has loaded, with the version in the file's name. It takes the
// target's mmap lock for reading, so it is for discovery, not for the loop.
func (p *Process) MappedFiles(keep func(path string) bool, limit int) ([]string, error) {
	h, err := p.open("maps")
	if err != nil {
		return nil, err
	}
	defer h.close()
	files, err := ParseMappedFiles(h, keep, limit)
	if err != nil {
		return nil, p.missing(classify(h.path, rootCause(err)))
	}
	return files, nil
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
		if whole && len(line) > 0 && !visit(bytes.TrimSuffix(line, []byte{'\n'})) || err != nil {
			return nil
		}
	}
}

// unescapeOctal restores the bytes that the kernel writes as a backslash and
// three octal digits (seq_path, mangle_path): blank, tab, newline, backslash
// and '#'.
func unescapeOctal(s string) string {
	if !bytes.ContainsRune([]byte(s), '\\') {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) && isOctal(s[i+1]) && isOctal(s[i+2]) && isOctal(s[i+3]) {
			if v := int(s[i+1]-'0')<<6 | int(s[i+2]-'0')<<3 | int(s[i+3]-'0'); v < 256 {
				out = append(out, byte(v))
				i += 3
				continue
			}
		}
		out = append(out, s[i])
	}
	return string(out)
}

func isOctal(c byte) bool { return c >= '0' && c <= '7' }
