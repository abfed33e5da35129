// Command sbom writes what a pipetune binary is made of as CycloneDX 1.5 JSON: the Go modules as the binary itself
// names them, the C libraries whose code the linker took in (by its map) or that scripts/portable-libs built (by its
// list), and the shared ones it asks for. It refuses to leave out what it cannot name.
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"debug/elf"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"runtime/debug"
	"strings"
)

// bom is the part of CycloneDX 1.5 (cyclonedx.org/docs/1.5/json) that is written.
type bom struct {
	Format       string       `json:"bomFormat"`
	Spec         string       `json:"specVersion"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version,omitempty"`
	Scope      string     `json:"scope,omitempty"`
	Hashes     []hash     `json:"hashes,omitempty"`
	URL        string     `json:"purl,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn"`
}

// How a component comes into the program; the value of the property pipetune:linkage.
const (
	linkedGo      = "go"
	linkedStatic  = "static"
	linkedDynamic = "dynamic" // the loader finds it at start
	linkedLater   = "dlopen"  // opened while running, where it is there
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("sbom: ")
	binary := flag.String("binary", "bin/pipetune", "the program")
	linkerMap := flag.String("map", "", "the linker's map of the same program")
	list := flag.String("sources", "", "the list that scripts/portable-libs wrote, in place of a map")
	compiler := flag.String("compiler", "", "with -sources, the compiler as PyPI names it: ziglang==0.17.1")
	version := flag.String("version", "", "its version, where it has one")
	flag.Parse()
	static := func() ([]component, error) { return archives(*linkerMap) }
	if *list != "" {
		static = func() ([]component, error) { return sources(*list, *binary, *compiler) }
	}
	b, err := describe(*binary, static, *version)
	if err != nil {
		log.Fatal(err)
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "  ")
	out.SetEscapeHTML(false)
	if err := out.Encode(b); err != nil {
		log.Fatal(err)
	}
}

// describe gathers everything about the program; static lists the libraries that were linked into it.
func describe(binary string, static func() ([]component, error), version string) (*bom, error) {
	sum, err := digest(binary)
	if err != nil {
		return nil, err
	}
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, fmt.Errorf("reading the modules of %s: %w", binary, err)
	}
	self := component{Type: "application", Ref: "pipetune", Name: "pipetune", Version: version,
		Hashes:     []hash{{"SHA-256", sum}},
		Properties: []property{{"pipetune:go", info.GoVersion}}}
	for _, s := range info.Settings {
		self.Properties = append(self.Properties, property{"pipetune:build:" + s.Key, s.Value})
	}
	all, err := modules(info)
	if err != nil {
		return nil, err
	}
	linked, err := static()
	if err != nil {
		return nil, err
	}
	shared, err := needed(binary)
	if err != nil {
		return nil, err
	}
	all = append(append(all, linked...), shared...)
	needs := dependency{Ref: self.Ref, DependsOn: []string{}}
	for _, c := range all {
		needs.DependsOn = append(needs.DependsOn, c.Ref)
	}
	return &bom{Format: "CycloneDX", Spec: "1.5", Version: 1, Metadata: metadata{self}, Components: all,
		Dependencies: []dependency{needs}}, nil
}

// modules lists Go's standard library and the modules that the binary was built of.
func modules(info *debug.BuildInfo) ([]component, error) {
	release := strings.TrimPrefix(info.GoVersion, "go")
	all := []component{{Type: "library", Ref: "go:std", Name: "std", Version: release, URL: "pkg:golang/std@" + release,
		Properties: linkage(linkedGo)}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			return nil, fmt.Errorf("module %s is replaced by %s: a release is built of what go.mod names", m.Path,
				m.Replace.Path)
		}
		all = append(all, component{Type: "library", Ref: "go:" + m.Path, Name: m.Path, Version: m.Version,
			URL: "pkg:golang/" + m.Path + "@" + m.Version, Properties: append(linkage(linkedGo),
				property{"pipetune:go.sum", m.Sum})})
	}
	return all, nil
}

// needed lists the shared libraries that the loader must find, and the one that is opened while running. Their versions
// are those of the machine the program runs on; the newest symbol version it asks for is the least of them.
func needed(binary string) ([]component, error) {
	f, err := elf.Open(binary)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", binary, err)
	}
	defer f.Close()
	names, err := f.ImportedLibraries()
	if err != nil {
		return nil, fmt.Errorf("reading the shared libraries of %s: %w", binary, err)
	}
	asked, err := f.DynamicVersionNeeds()
	if err != nil {
		return nil, fmt.Errorf("reading the symbol versions of %s: %w", binary, err)
	}
	var all []component
	for _, name := range names {
		c := component{Type: "library", Ref: "so:" + name, Name: name, Scope: "required",
			Properties: linkage(linkedDynamic)}
		for _, need := range asked {
			if need.Name != name {
				continue
			}
			for _, v := range need.Needs {
				c.Properties = append(c.Properties, property{"pipetune:symbol-version", v.Dep})
			}
		}
		all = append(all, c)
	}
	return append(all, component{Type: "library", Ref: "so:libnvidia-ml.so.1", Name: "libnvidia-ml.so.1",
		Scope: "optional", Properties: linkage(linkedLater)}), nil
}

func linkage(how string) []property { return []property{{"pipetune:linkage", how}} }

// digest is the SHA-256 of a file.
func digest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", fmt.Errorf("reading %s: %w", path, err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
