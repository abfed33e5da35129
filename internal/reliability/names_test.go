//go:build reliability

package reliability

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pipetune/pipetune/internal/untrusted"
	"github.com/pipetune/pipetune/internal/untrusted/untrustedtest"
)

var nameTrials = []trial{
	{id: "N1-gate", fault: "hostile text at the gate it comes in through",
		made: "each of the payloads through internal/untrusted, into JSON and back",
		target: "no control, bidirectional or zero-width character, valid UTF-8, and the exact bytes can be told " +
			"from what is shown", run: hostileAtTheGate},
	{id: "N1-files", fault: "hostile names of files and folders",
		made: "`bench-io` on a folder of pictures with each payload that can be a name, in a folder of such a " +
			"name; text, md, json, stderr",
		target: "no control, bidirectional or zero-width character, valid UTF-8; the Markdown has one heading, tags " +
			"of pipetune's own and tables as wide as their head, no link, no mention; JSON is valid; exit 0",
		run: hostileFiles},
	{id: "N1-hdf5", fault: "hostile names inside an HDF5 file",
		made:   "`bench-io` on a file with datasets, groups, links and attributes so named by h5py",
		target: "as N1-files, or exit 3 where no item of the dataset it chooses can be read", run: hostileDatasets},
	{id: "N1-process", fault: "hostile command lines, names of processes, control group and host",
		made: "`diagnose --pid` of a process with each payload as an argument, one as argv[0], and children " +
			"with each as comm (prctl), in a control group and a UTS namespace of such names",
		target: "as N1-files, in the recording too", run: hostileProcess},
	{id: "N1-gpu", fault: "hostile name of a GPU", made: "`doctor` with a libnvidia-ml that tells each payload " +
		"as the name", target: "as N1-files", run: hostileGPU},
	{id: "N1-hook", fault: "hostile strings from inside the job",
		made:   "`diagnose -- python` of a script so named, with dataset and sampler classes so named",
		target: "as N1-files, the job unharmed", run: hostileHook},
	{id: "N3", fault: "lines to copy hold hostile paths", made: "every line of reports that is to be copied, " +
		"made of each payload that can be a path: `sh -n`, then run by sh and bash in a folder with programs of " +
		"their names that do nothing",
		target: "it parses, runs, and no marker appears", run: hostileCommands},
}

// hostileAtTheGate measures what is lost where text comes in. The gate shows each byte that is not plainly printable as
// an escape and leaves a backslash alone, so that text may pass it again when a recording is read.
func hostileAtTheGate(s *stand) {
	told, ambiguous, cut := 0, 0, 0
	for _, p := range untrustedtest.Payloads {
		shown := untrusted.Sanitize(p)
		if why := invisible(shown); why != "" {
			s.Errorf("%.30q passes the gate with %s", p, why)
		}
		line, err := json.Marshal(shown)
		var back string
		if err == nil {
			err = json.Unmarshal(line, &back)
		}
		if err != nil || back != shown || untrusted.Sanitize(back) != shown {
			s.Errorf("%.30q does not come back from JSON as it went in: %v", p, err)
		}
		switch {
		case len(shown) >= untrusted.MaxBytes:
			cut++
		case unescaped(shown) == p:
			told++
		default:
			ambiguous++
		}
	}
	s.measured("%d of %d payloads can be told byte by byte from what is shown; %d longer than %d bytes are cut", told,
		len(untrustedtest.Payloads), cut, untrusted.MaxBytes)
	if ambiguous > 0 {
		s.missed("%d that hold a backslash followed by what looks like one of the gate's escapes cannot be told "+
			"apart from the byte itself: a gate that text may pass twice cannot also escape its own escapes", ambiguous)
	}
	if cut > 0 {
		s.missed("%d longer than %d bytes are cut, and say so by an ellipsis: text of that length is bounded on "+
			"purpose", cut, untrusted.MaxBytes)
	}
}

// unescaped undoes what the gate writes.
func unescaped(shown string) string {
	var b []byte
	for len(shown) > 0 {
		if len(shown) > 1 && shown[0] == '\\' && strings.IndexByte("nrtxuU", shown[1]) >= 0 {
			if c, rune, rest, err := strconv.UnquoteChar(shown, 0); err == nil {
				if shown = rest; rune {
					b = utf8.AppendRune(b, c)
				} else {
					b = append(b, byte(c))
				}
				continue
			}
		}
		b, shown = append(b, shown[0]), shown[1:]
	}
	return string(b)
}
