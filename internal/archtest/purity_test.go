package archtest

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// pure are the packages that judge and present, and the vocabulary they share: every verdict can be replayed from a
// file, because nothing in here looks at the machine, the clock or chance.
var pure = []string{"metric", "stat", "evidence/watched", "evidence/hooked", "evidence", "evidence/bench", "predict",
	"diagnose", "rules", "compare", "unit", "timeline", "document", "render", "pkg/report"}

// machine lists imports that reach for the machine. A prefix that ends in a slash stands for all below it.
var machine = []string{"os", "os/", "syscall", "net", "net/", "log", "log/", "io/ioutil", "plugin", "C", "unsafe",
	"golang.org/x/sys/", "golang.org/x/term", "crypto/rand"}

// seeded are the names of math/rand that take a seed or a source of one's own; all others draw from the global one.
var seeded = []string{"New", "NewPCG", "NewChaCha8", "NewSource", "NewZipf", "Rand", "Source", "Source64", "PCG",
	"ChaCha8", "Zipf"}

var clock = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker", "Local",
	"LoadLocation"}

// impurities lists what in one file of a pure package touches the machine.
func impurities(s source) []string {
	var found []string
	s.imports(func(spec *ast.ImportSpec, imported string) {
		for _, m := range machine {
			if imported == "net/netip" { // addresses as values
				continue
			}
			if imported == m || strings.HasSuffix(m, "/") && strings.HasPrefix(imported, m) {
				found = append(found, s.at(spec)+": imports "+imported)
			}
		}
	})
	s.uses("time", func(n ast.Node, name string) {
		if slices.Contains(clock, name) {
			found = append(found, s.at(n)+": time."+name)
		}
	})
	s.uses("fmt", func(n ast.Node, name string) {
		if strings.HasPrefix(name, "Print") || strings.HasPrefix(name, "Scan") {
			found = append(found, s.at(n)+": fmt."+name)
		}
	})
	for _, random := range []string{"math/rand", "math/rand/v2"} {
		s.uses(random, func(n ast.Node, name string) {
			if !slices.Contains(seeded, name) {
				found = append(found, s.at(n)+": "+random+"'s global "+name)
			}
		})
	}
	return found
}

func TestJudgeAndPresentArePure(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || !slices.Contains(pure, short(s.pkg)) {
			continue
		}
		for _, impurity := range impurities(s) {
			t.Error(impurity)
		}
	}
}

func TestImpuritiesAreFound(t *testing.T) {
	for name, c := range map[string]struct {
		code string
		want int
	}{
		"a file is opened":         {`import "os"; var _ = os.Args`, 1},
		"the clock is asked":       {`import "time"; var _ = time.Now`, 1},
		"under another name":       {`import clock "time"; var _ = clock.Since`, 1},
		"a duration is fine":       {`import "time"; var _ = time.Second`, 0},
		"something is printed":     {`import "fmt"; var _ = fmt.Println`, 1},
		"printing to a writer":     {`import "fmt"; var _ = fmt.Fprintln`, 0},
		"chance of the process":    {`import "math/rand/v2"; var _ = rand.IntN`, 1},
		"chance with its own seed": {`import "math/rand/v2"; var _ = rand.New(rand.NewPCG(1, 2))`, 0},
		"a system call":            {`import "golang.org/x/sys/unix"; var _ = unix.Getpid`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := parse(t, "internal/rules/x.go", "package x\n"+strings.ReplaceAll(c.code, "; ", "\n"))
			if found := impurities(s); len(found) != c.want {
				t.Errorf("found %v, want %d", found, c.want)
			}
		})
	}
}
