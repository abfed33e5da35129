//go:build reliability

package reliability

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pipetune/pipetune/internal/must"
)

func supplyTrials() []trial {
	return []trial{
		{id: "S1", fault: "a binary that nobody can make again", made: "the commit built twice: two folders (one " +
			"with a space), two users, umasks, homes, time zones, a warm and an empty build cache, without a proxy",
			target: "the same SHA-256", long: true, run: sameBytes},
		{id: "S2", fault: "a module that is not the one meant", made: "`go mod verify`, `go mod tidy -diff`, no " +
			"replace, a build with GOPROXY=off and -mod=readonly", target: "all pass", run: sameModules},
		{id: "S3", fault: "a list of parts that is not true", made: "`make sbom` against `go version -m`, `readelf " +
			"-d`, and the versions that the C libraries wrote into the binary",
			target: "the same modules and libraries, each with a version", run: trueParts},
		{id: "S4", fault: "a binary without its hardening", made: "scripts/check-binary, readelf, nm, on the binary",
			target: "PIE, RELRO, NX, no RPATH, stack protector, no set-uid, libraries of an allow-list, glibc at " +
				"most 2.36", run: hardened},
		{id: "S5", fault: "nobody knows what is trusted, or whom to tell",
			made: "SECURITY.md: what is hostile, trusted and not promised, and how to report; every trial that it " +
				"names is one of this page", target: "all there", run: securityPage},
		{id: "S6", fault: "another hook than the one in the binary",
			made: "`diagnose --` of a program that lists and hashes the folder on its PYTHONPATH; the hash of " +
				"`pipetune version` made again from it",
			target: "the same hash, what acts only where it was asked for, in a folder of the same owner",
			run:    embeddedHook},
		{id: "S7", fault: "a known weakness in a module or in Go's own library",
			made: "scripts/check-vulnerabilities: govulncheck and Go's database of weaknesses, both pinned modules, " +
				"on the binary, and on a program with a known one",
			target: "none in the binary; C libraries are not looked at: their versions are in `make sbom`", long: true,
			run: knownWeaknesses},
	}
}

// repository is the root of the source.
func repository(s *stand) string {
	s.Helper()
	return must.Get(filepath.Abs("../.."))(s)
}

// inRepository runs a program there to its end, and returns what it printed.
func inRepository(s *stand, limit time.Duration, argv ...string) string {
	s.Helper()
	c := s.start(filepath.Base(argv[0]), argv, func(cmd *exec.Cmd) { cmd.Dir = repository(s) })
	if status := c.wait(limit); status != 0 {
		s.Fatalf("%s: exit %d: %s\n%s", strings.Join(argv, " "), status, c.complaints(), c.output())
	}
	return string(c.output())
}

func sameBytes(s *stand) {
	must.Do(s, os.Chmod(s.work, 0o755)) // the second build is another user's
	said := inRepository(s, time.Hour, "scripts/check-reproducible", s.work)
	s.measured("%s", strings.TrimPrefix(strings.TrimSpace(said), "check-reproducible: "))
}

func sameModules(s *stand) {
	said := lastLine(inRepository(s, 20*time.Minute, "scripts/check-modules"))
	s.measured("%s", strings.TrimPrefix(said, "check-modules: "))
}

// part is a component of the list.
type part struct {
	Name, Version, Purl string
	Properties          []struct{ Name, Value string }
}

func (p part) linkage() string {
	for _, x := range p.Properties {
		if x.Name == "pipetune:linkage" {
			return x.Value
		}
	}
	return ""
}

// sameSet holds two lists to each other in any order.
func sameSet(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// linkedVersion finds the version that a C library has written into the binary.
var linkedVersion = map[string]*regexp.Regexp{
	"libhdf5_serial": regexp.MustCompile(`HDF5 library version ([0-9]+\.[0-9]+\.[0-9]+)`),
	"libz":           regexp.MustCompile(`inflate ([0-9.]+) Copyright`),
	"libturbojpeg":   regexp.MustCompile(`libjpeg-turbo version ([0-9.]+)`),
}

func trueParts(s *stand) {
	inRepository(s, 20*time.Minute, "make", "sbom")
	root := repository(s)
	binary := filepath.Join(root, "bin/pipetune")
	list := fromJSON[struct {
		BomFormat, SpecVersion string
		Components             []part
		Metadata               struct {
			Component struct{ Hashes []struct{ Content string } }
		}
	}](s, filepath.Join(root, "bin/pipetune.cdx.json"))
	content := must.Get(os.ReadFile(binary))(s)
	sum := fmt.Sprintf("%x", sha256.Sum256(content))
	if h := list.Metadata.Component.Hashes; len(h) != 1 || h[0].Content != sum {
		s.Errorf("the list is of another binary: %v", h)
	}
	if list.BomFormat != "CycloneDX" || list.SpecVersion != "1.5" {
		s.Errorf("%s %s", list.BomFormat, list.SpecVersion)
	}
	var modules, shared, static []string
	for _, p := range list.Components {
		switch p.linkage() {
		case "go":
			if p.Name != "std" {
				modules = append(modules, p.Name+" "+p.Version)
			}
		case "dynamic":
			shared = append(shared, p.Name)
		case "static":
			static = append(static, p.Name)
			if p.Version == "" || !strings.HasPrefix(p.Purl, "pkg:deb/") {
				s.Errorf("%s has the version %q, %q", p.Name, p.Version, p.Purl)
			}
		}
	}
	var want []string
	for line := range strings.Lines(inRepository(s, time.Minute, "go", "version", "-m", binary)) {
		if words := strings.Fields(line); len(words) == 4 && words[0] == "dep" {
			want = append(want, words[1]+" "+words[2])
		}
	}
	if !sameSet(modules, want) || len(want) < 5 {
		s.Errorf("the list has the modules %v, the binary %v", modules, want)
	}
	var needed []string
	for _, m := range regexp.MustCompile(`\(NEEDED\).*\[(.*)\]`).FindAllStringSubmatch(inRepository(s, time.Minute,
		"readelf", "-dW", binary), -1) {
		needed = append(needed, m[1])
	}
	if !sameSet(shared, needed) || len(needed) == 0 {
		s.Errorf("the list has the shared libraries %v, the binary needs %v", shared, needed)
	}
	for _, must := range []string{"libhdf5_serial", "libsz", "libaec", "libz", "libturbojpeg"} {
		if !slices.Contains(static, must) {
			s.Errorf("%s is linked and not listed: %v", must, static)
		}
	}
	read := 0
	for _, p := range list.Components {
		pattern := linkedVersion[p.Name]
		if pattern == nil {
			continue
		}
		m := pattern.FindSubmatch(content)
		if m == nil {
			continue // not every build of a library leaves its version behind
		}
		read++
		if !strings.Contains(p.Version, string(m[1])) {
			s.Errorf("the list has %s %s, the binary holds %s", p.Name, p.Version, m[1])
		}
	}
	if read == 0 {
		s.Errorf("no C library's version was found in the binary")
	}
	s.measured("%d modules, %d static and %d shared libraries, all the same; %d of the versions are also read from "+
		"the binary", len(modules), len(static), len(shared), read)
}

func hardened(s *stand) {
	said := inRepository(s, time.Minute, "scripts/check-binary", s.binary)
	floor := regexp.MustCompile(`GLIBC_2\.([0-9]+) or newer`).FindStringSubmatch(said)
	if floor == nil {
		s.Fatalf("check-binary says %q", said)
	}
	s.atMost(float64(number(floor[1])), 36, "it needs glibc 2.%.0f: built on a newer system than Debian 12")
	s.measured("%s", strings.ReplaceAll(strings.TrimPrefix(strings.TrimSpace(said), "check-binary: "), s.binary,
		"bin/pipetune"))
	s.missed("full RELRO: it binds every symbol at start, and those of libnvidia-ml are only there once the library " +
		"is open (docs/adr/0003); RELRO covers all but the procedure linkage table")
}

func securityPage(s *stand) {
	text := must.Get(os.ReadFile(filepath.Join(repository(s), "SECURITY.md")))(s)
	for _, must := range []string{"**hostile**", "**trusted**", "not a boundary", "does not promise", "## Reporting",
		"vulnerability"} {
		if !strings.Contains(string(text), must) {
			s.Errorf("SECURITY.md does not say %q", must)
		}
	}
	known, group := map[string]bool{}, regexp.MustCompile(`^\w+`)
	for _, c := range all() {
		known[group.FindString(c.id)] = true
	}
	for _, n := range notRun {
		known[group.FindString(n.id)] = true
	}
	named := regexp.MustCompile(`\b([HLFDNAS][0-9]+)\b`).FindAllString(string(text), -1)
	for _, id := range named {
		if !known[id] {
			s.Errorf("SECURITY.md names the trial %s, which is not on the page", id)
		}
	}
	s.measured("%d lines, %d trials named, all on the page", bytes.Count(text, []byte("\n")), len(named))
}

// folderOnPath is what PYTHONPATH names, in the private folder of a launched job.
const folderOnPath = "importlib._bootstrap"

// folderOfHook lists the folder that the job has on its PYTHONPATH, as the job sees it. Modes are held by the hook's
// own test.
const folderOfHook = `
import hashlib, json, os
top = os.environ["PYTHONPATH"].split(":")[0]
files = []
for d, _, names in os.walk(top):
    for n in names:
        p = os.path.join(d, n)
        if n.endswith(".py"):
            files.append((os.path.relpath(p, top), open(p, "rb").read()))
h = hashlib.sha256()
for name, data in sorted(files):
    h.update(b"%s\0%d\0" % (name.encode(), len(data)))
    h.update(data)
each = {name: hashlib.sha256(data).hexdigest() for name, data in files}
print(json.dumps({"hash": h.hexdigest(), "files": each, "owner": os.lstat(os.path.dirname(top)).st_uid}))
`

// hookFolder is what a launched program finds there.
func (s *stand) hookFolder(flags ...string) (seen struct {
	Hash  string
	Files map[string]string
	Owner int
}) {
	s.Helper()
	c := s.pipetune(slices.Concat([]string{"diagnose", "-q"}, flags, []string{"--", "/usr/bin/python3", "-S", "-c",
		folderOfHook}))
	c.ends(time.Minute, 0)
	if err := json.Unmarshal(c.output(), &seen); err != nil {
		s.Fatalf("%v: %q", err, c.output())
	}
	return seen
}

func embeddedHook(s *stand) {
	v := s.pipetune([]string{"version"})
	v.wait(time.Minute)
	told := regexp.MustCompile(`(?m)^hook +([0-9a-f]{64})$`).FindSubmatch(v.output())
	if told == nil {
		s.Fatalf("version says %q", v.output())
	}
	// The hash is of all there is; what acts on a job lies in the folder only where it was asked for.
	seen, all := s.hookFolder(), s.hookFolder("--headroom")
	if all.Hash != string(told[1]) || len(seen.Files) < 5 || len(all.Files) <= len(seen.Files) {
		s.Errorf("%d files and %d, of hash %s; version says %s", len(seen.Files), len(all.Files), all.Hash, told[1])
	}
	for name, hash := range all.Files {
		if acts := strings.Contains(name, "/acting/"); acts != (seen.Files[name] == "") || !acts &&
			seen.Files[name] != hash {
			s.Errorf("%s is %q, and %q where it may act", name, seen.Files[name], hash)
		}
	}
	if all.Owner != os.Geteuid() {
		s.Errorf("the folder is of user %d", all.Owner)
	}
	s.measured("%d files, hash %s as told, in a folder of the same owner", len(all.Files), all.Hash[:12])
}

// weakest is a program with a weakness that is known since 2021, GO-2021-0113: a scanner that finds nothing in it looks
// at nothing.
var weakest = map[string]string{
	"go.mod": "module weakest\n\ngo 1.21\n\nrequire golang.org/x/text v0.3.6\n",
	"main.go": `package main

import (
	"fmt"
	"os"

	"golang.org/x/text/language"
)

func main() { fmt.Println(language.Parse(os.Args[1])) }
`,
}

const weakness = "GO-2021-0113"

func knownWeaknesses(s *stand) {
	database, source := s.folder("database"), s.folder("weakest")
	for name, text := range weakest {
		s.write(filepath.Join(source, name), text)
	}
	inRepository(s, 10*time.Minute, "go", "-C", source, "build", "-mod=mod", "-o", "weakest", ".")
	check := func(binary string) (status int, said, complaints string) {
		c := s.start("check-vulnerabilities", []string{filepath.Join(repository(s), "scripts/check-vulnerabilities"),
			binary, database})
		status = c.wait(20 * time.Minute)
		return status, string(c.output()), c.complaints()
	}
	status, said, complaints := check(filepath.Join(source, "weakest"))
	if status != 3 || !strings.Contains(said, weakness) {
		s.Fatalf("of a program with %s: exit %d: %s\n%s", weakness, status, complaints, said)
	}
	s.measured("%s is found in a program that has it", weakness)
	switch status, said, complaints := check("bin/pipetune"); status {
	case 0:
		s.measured("%s", strings.TrimPrefix(lastLine(said), "check-vulnerabilities: "))
	case 3:
		s.missed("%.1500s", said)
	default:
		s.Errorf("exit %d: %s\n%s", status, complaints, said)
	}
}
