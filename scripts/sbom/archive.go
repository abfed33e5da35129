package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// archives lists the static libraries that the linker took code from, with the packages of the distribution they came
// in.
func archives(linkerMap string) ([]component, error) {
	f, err := os.Open(linkerMap)
	if err != nil {
		return nil, fmt.Errorf("opening the linker's map: %w", err)
	}
	defer f.Close()
	paths, err := members(f)
	if err != nil {
		return nil, fmt.Errorf("reading the linker's map %s: %w", linkerMap, err)
	}
	for i, path := range paths {
		if paths[i], err = filepath.EvalSymlinks(path); err != nil {
			return nil, fmt.Errorf("finding an archive of the linker's map: %w", err)
		}
	}
	slices.Sort(paths)
	var all []component
	for _, path := range slices.Compact(paths) {
		c, err := archive(path)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b component) int { return strings.Compare(a.Ref, b.Ref) })
	return all, nil
}

// member is a line of the map's first part, as GNU ld writes it: an archive, and in brackets the object that was taken
// from it.
var member = regexp.MustCompile(`^(/.*?\.a)\(`)

const (
	membersBegin = "Archive member included"
	membersEnd   = "Discarded input sections"
)

// members lists the archives that a linker's map names in its first part, in order, each as often as it is named.
func members(r io.Reader) ([]string, error) {
	var all []string
	within := false
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		line := lines.Text()
		switch m := member.FindStringSubmatch(line); {
		case strings.HasPrefix(line, membersBegin):
			within = true
		case strings.HasPrefix(line, membersEnd):
			return all, nil
		case within && m != nil:
			all = append(all, m[1])
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	return nil, errors.New("it is not one of GNU ld: the list of archive members is missing")
}

// archive names the package that a static library came in.
func archive(path string) (component, error) {
	sum, err := digest(path)
	if err != nil {
		return component{}, err
	}
	name := strings.TrimSuffix(filepath.Base(path), ".a")
	c := component{Type: "library", Ref: "a:" + name, Name: name, Hashes: []hash{{"SHA-256", sum}},
		Properties: append(linkage(linkedStatic), property{"pipetune:archive", path})}
	owner, err := exec.Command("dpkg-query", "--search", path).Output()
	if err != nil {
		return c, fmt.Errorf("no package of this system holds %s, so its version is not known: build a release on "+
			"Debian or Ubuntu, of their libraries", path)
	}
	pkg, _, ok := strings.Cut(string(owner), ":") // libhdf5-dev: /usr/…, or libc6-dev:amd64: /usr/…
	if !ok {
		return c, fmt.Errorf("dpkg-query says of %s: %.100q", path, owner)
	}
	told, err := exec.Command("dpkg-query", "--show", "--showformat",
		"${Version} ${source:Package} ${source:Version} ${Architecture}", pkg).Output()
	fields := strings.Fields(string(told))
	if err != nil || len(fields) != 4 {
		return c, fmt.Errorf("dpkg-query says of the version of %s: %.100q: %w", pkg, told, err)
	}
	c.Version = fields[0]
	c.URL = fmt.Sprintf("pkg:deb/%s/%s@%s?arch=%s", cmp.Or(vendor(), "debian"), pkg,
		strings.ReplaceAll(fields[0], "+", "%2B"), fields[3])
	c.Properties = append(c.Properties, property{"pipetune:source-package", fields[1] + " " + fields[2]})
	return c, nil
}

// vendor is the distribution as os-release(5) names it, "" where that is not told.
func vendor() string {
	text, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if id, ok := strings.CutPrefix(strings.TrimSpace(line), "ID="); ok {
			return strings.Trim(id, `"`)
		}
	}
	return ""
}
