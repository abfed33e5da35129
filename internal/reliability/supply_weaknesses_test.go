//go:build reliability

package reliability

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pipetune/pipetune/internal/must"
)

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
	database, source := filepath.Join(s.work, "database"), filepath.Join(s.work, "weakest")
	for _, folder := range []string{database, source} {
		must.Do(s, os.Mkdir(folder, 0o755))
	}
	for name, text := range weakest {
		must.Do(s, os.WriteFile(filepath.Join(source, name), []byte(text), 0o644))
	}
	inRepository(s, 10*time.Minute, "go", "-C", source, "build", "-mod=mod", "-o", "weakest", ".")

	binary := filepath.Join(source, "weakest")
	c := s.start("check-vulnerabilities", []string{filepath.Join(repository(s), "scripts/check-vulnerabilities"),
		binary, database})
	if status := c.wait(20 * time.Minute); status != 3 || !strings.Contains(string(c.output()), weakness) {
		s.Fatalf("of a program with %s: exit %d: %s\n%s", weakness, status, c.complaints(), c.output())
	}
	s.measured("%s is found in a program that has it", weakness)

	c = s.start("check-vulnerabilities", []string{filepath.Join(repository(s), "scripts/check-vulnerabilities"),
		"bin/pipetune", database})
	switch status := c.wait(20 * time.Minute); status {
	case 0:
		said := strings.Split(strings.TrimSpace(string(c.output())), "\n")
		s.measured("%s", strings.TrimPrefix(said[len(said)-1], "check-vulnerabilities: "))
	case 3:
		s.missed("%.1500s", c.output())
	default:
		s.Errorf("exit %d: %s\n%s", status, c.complaints(), c.output())
	}
}
