//go:build reliability

package reliability

import (
	"path/filepath"
	"strings"
	"time"
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
