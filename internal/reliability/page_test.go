//go:build reliability

package reliability

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
)

// row is one line of the page's table: id, fault, made, target, measured, result, commit and day.
type row [8]string

// absent is a row of the page for what cannot be made on the machine the page is written on.
type absent struct{ id, fault, why, how string }

// notRun is listed with the way to run it.
var notRun = []absent{
	{"N2", "free text in mermaid diagrams and CSV cells", "pipetune writes neither", "nothing to run"},
	{"N4-panic", "secrets in the trace of a panic", "no panic of the program itself is known; Go prints arguments as " +
		"numbers", "`GOTRACEBACK=all` on a build with a panic put in"},
	{"S8", "a release that was changed on its way", "there is no release yet, and signing needs a key of the project's",
		"`make release-check` writes bin/SHA256SUMS, to be signed"},
	{"S9", "an action of the forge that was changed", "the repository has no workflow of a forge", "nothing to run"},
	{"D1", "145 files of published libhdf5 vulnerabilities", "they are on GitHub only (HDFGroup/cve_hdf5), which " +
		"this machine does not reach",
		"clone it, then `make reliability RELIABILITY=D2 RELIABILITY_CORPUS=$PWD/cve_hdf5`"},
	{"F6-step", "the real clock is set by hours and years", "it would harm whatever else runs on the machine",
		"on a machine to throw away: `pipetune diagnose --pid N &`, then `date -s` by ±1 h and ±10 y"},
	{"F12-driver", "a real NVIDIA driver fails", "no GPU; a library that behaves like one stands in (F12)",
		"unload the driver, or reset the GPU, under a watch"},
	{"F1-nfs", "an NFS server goes away", "no NFS client in the kernel; FUSE stands in (F1)",
		"`bench-io` on a hard mount, then stop the server"},
}

const (
	rowsBegin = "<!-- rows: written by make reliability -->"
	rowsEnd   = "<!-- end of rows -->"
)

// updatePage puts a row into the page's table; rows of other trials stay as they are.
func updatePage(path string, fresh row) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, ok1 := strings.Cut(string(text), rowsBegin)
	table, after, ok2 := strings.Cut(rest, rowsEnd)
	if !ok1 || !ok2 {
		return fmt.Errorf("%s: the lines %q and %q are missing", path, rowsBegin, rowsEnd)
	}
	rows := readRows(table)
	rows[fresh[0]] = fresh
	return os.WriteFile(path, []byte(before+rowsBegin+"\n"+table0(rows)+rowsEnd+after), 0o644)
}

// readRows reads the table that table0 has written.
func readRows(table string) map[string]row {
	rows := map[string]row{}
	for line := range strings.Lines(table) {
		cells := splitRow(line)
		if len(cells) != 8 || cells[0] == "id" || strings.HasPrefix(cells[0], "-") || cells[7] == "-" {
			// the last: it has not run
			continue
		}
		rows[cells[0]] = row(cells)
	}
	return rows
}

// splitRow undoes cell.
func splitRow(line string) []string {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "| ") || !strings.HasSuffix(line, " |") {
		return nil
	}
	parts := strings.Split(strings.ReplaceAll(line[2:len(line)-2], `\|`, "\x00"), " | ")
	for i := range parts {
		parts[i] = strings.ReplaceAll(parts[i], "\x00", "|")
	}
	return parts
}

// cell keeps a text within its cell.
func cell(text string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(text, "|", `\|`)), " ")
}

// table0 is the part of the page between the two marks.
func table0(rows map[string]row) string {
	var lines strings.Builder
	counts, n := map[string]int{}, 0
	add := func(r row) {
		n++
		counts[resultWord.FindString(r[5])]++
		lines.WriteString(line(r))
	}
	for _, c := range all() {
		r, ran := rows[c.id]
		if !ran {
			r = row{5: "not run yet"}
		}
		copy(r[:], []string{c.id, c.fault, c.made, c.target})
		add(r)
	}
	for _, n := range notRun {
		add(row{n.id, n.fault, n.how, 5: "not run: " + n.why})
	}
	return fmt.Sprintf("\n%d rows: %d met, %d missed, %d failed, %d not run. %s, last written %s.\n\n", n,
		counts["met"], counts["missed"], counts["failed"], counts["not"], machineInWords(),
		time.Now().UTC().Format(time.DateOnly)) +
		"| id | fault | made by | target | measured | result | commit | day |\n|---|---|---|---|---|---|---|---|\n" +
		lines.String() + "\n"
}

// line is a row as it stands in the table, with a dash where there is nothing.
func line(r row) string {
	for i := range r {
		r[i] = cmp.Or(cell(r[i]), "-")
	}
	return "| " + strings.Join(r[:], " | ") + " |\n"
}

// resultWord is the first word of a result: met, missed, failed or not.
var resultWord = regexp.MustCompile(`[a-z]+`)

// commit names what is tried: the commit of the tree, and whether something in it was changed.
func commit() string {
	out, err := exec.Command("git", "-c", "safe.directory=*", "describe", "--always", "--dirty", "--exclude",
		"*").Output()
	if err != nil {
		return "unknown"
	}
	return string(bytes.TrimSpace(out))
}

// machineInWords says where the rows were measured.
func machineInWords() string {
	kernel, err := exec.Command("uname", "-r").Output()
	if err != nil {
		kernel = []byte("unknown")
	}
	return fmt.Sprintf("%d CPUs, Linux %s, %s, %s", runtime.NumCPU(), bytes.TrimSpace(kernel), runtime.GOARCH,
		runtime.Version())
}

func TestRowsSurviveThePage(t *testing.T) {
	first := all()[0]
	want := row{first.id, first.fault, first.made, first.target, "3 | 4 ms; `a|b`",
		"**missed**: 3 > 2 (shortened: X=1)", "33c2b06", "2026-01-02"}
	got := readRows(table0(map[string]row{first.id: want}))[first.id]
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	table := table0(nil)
	if n := strings.Count(table, "\n| ") - 1; n != len(all())+len(notRun) { // less the head
		t.Errorf("%d rows, %d trials and %d not run", n, len(all()), len(notRun))
	}
	if left := readRows(table); len(left) != 0 {
		t.Errorf("rows that have not run are taken for rows that have: %v", left)
	}
}
