package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

// sources lists the libraries that scripts/portable-libs built from source. A line of its list holds the library, its
// version, the crate it came in, the crate's version and SHA-256, and words that a binary with the library holds. The
// compiler (ziglang==0.17.1) adds its own runtime.
func sources(list, binary, compiler string) ([]component, error) {
	zig, release, ok := strings.Cut(compiler, "==")
	if !ok {
		return nil, fmt.Errorf("the compiler %q has no version", compiler)
	}
	text, err := os.ReadFile(list)
	if err != nil {
		return nil, fmt.Errorf("reading the list of sources: %w", err)
	}
	program, err := os.ReadFile(binary)
	if err != nil {
		return nil, fmt.Errorf("reading the program: %w", err)
	}
	var all []component
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 6 {
			return nil, fmt.Errorf("%s: %q names no library, version, crate with version and hash, and mark", list,
				line)
		}
		name, version, crate, crateVersion, sum, mark := f[0], f[1], f[2], f[3], f[4], strings.Join(f[5:], " ")
		if !bytes.Contains(program, []byte(mark)) {
			return nil, fmt.Errorf("%s holds no %q: it is not of %s %s, as %s says", binary, mark, name, version, list)
		}
		from := fmt.Sprintf("https://static.crates.io/crates/%s/%s-%s.crate", crate, crate, crateVersion)
		all = append(all, component{Type: "library", Ref: "a:" + name, Name: name, Version: version,
			URL: "pkg:generic/" + name + "@" + version,
			Properties: append(linkage(linkedStatic), property{"pipetune:source", from},
				property{"pipetune:source-sha256", sum})})
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s names no library", list)
	}
	return append(all, component{Type: "library", Ref: "a:" + zig, Name: zig, Version: release,
		URL: "pkg:pypi/" + zig + "@" + release, Properties: linkage(linkedStatic)}), nil
}
