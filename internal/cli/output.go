package cli

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/render"
	"github.com/pipetune/pipetune/internal/saved"
)

// recordingSuffix marks the output that takes the recording instead of the report.
const recordingSuffix = ".jsonl"

// output is one -o file, checked before anything is measured and written whole or not at all.
type output struct {
	path      string
	flag      string // that named it; "": -o
	format    render.Format
	recording bool
	patch     bool
}

// parseOutputs checks the -o flags: a known suffix, no name twice, and at most one recording. ofRun says that there may
// be a recording and a patch, as there are of a watch; also are endings to name beside those of formats.
func parseOutputs(paths []string, formats []render.Format, ofRun bool, also ...string) ([]output, error) {
	var outs []output
	seen := map[string]bool{}
	recordings := 0
	for _, p := range paths {
		if seen[filepath.Clean(p)] {
			return nil, fail(exitUsage, "", "-o %s: named twice", p)
		}
		seen[filepath.Clean(p)] = true
		o := output{path: p, recording: ofRun && strings.HasSuffix(p, recordingSuffix), patch: ofRun &&
			slices.Contains(patchSuffixes, filepath.Ext(p))}
		var err error
		switch {
		case o.recording:
			recordings++
		case o.patch:
		default:
			if o.format, err = render.BySuffix(formats, p, also...); err != nil {
				return nil, fail(exitUsage, "", "-o: %w", err)
			}
		}
		outs = append(outs, o)
	}
	if recordings > 1 {
		return nil, fail(exitUsage, "", "-o: only one recording (%s) can be written", recordingSuffix)
	}
	return outs, nil
}

// check tries the output before a minute is spent on measuring: it makes the temporary file and removes it again.
func (o output) check() error {
	f, err := saved.Create(o.path)
	if err != nil {
		return fail(exitUsage, "choose a folder you may write to", "%s: %w", o, err)
	}
	return f.Drop()
}

// String is the output as the command line names it.
func (o output) String() string { return cmp.Or(o.flag, "-o") + " " + o.path }

func (o output) write(s render.Subject) error {
	return o.fill(func(w *saved.Draft) error { return o.format.Write(w, s, render.Options{Verbose: true}) })
}

// fill writes to a temporary name in the file's folder, which is then renamed, so that the old file stays whole until
// the new one is.
func (o output) fill(content func(*saved.Draft) error) error {
	f, err := saved.Create(o.path)
	if err != nil {
		return fail(exitUsage, "choose a folder you may write to", "%s: %w", o, err)
	}
	if err := f.Settle(content(f)); err != nil {
		return fail(exitUsage, "free some space or choose another folder; what stood in the file before is still there",
			"%s: %w", o, err)
	}
	return nil
}

// patchSuffixes mark the outputs that take the patch instead of the report.
var patchSuffixes = []string{".patch", ".diff"}

// refusePatch ends a command that was asked for a patch and never makes one.
func refusePatch(outs []output) error {
	for _, o := range outs {
		if o.patch {
			return fail(exitUsage, "let pipetune start the job: pipetune diagnose -o fix.patch -- python train.py",
				"-o %s: only of a job that it has launched does pipetune know the line to patch", o.path)
		}
	}
	return nil
}

// nodeNames replaces %j, %n, %h and %p in names of files, so that one command line serves all nodes of a job: by the
// job's id and the rank of the node as this process's own environment has them, the host, and the process. %% is a
// percent sign, any other % is itself.
func nodeNames(env Env, paths []string) (out []string, err error) {
	place := job.PlaceOf(env.Getenv)
	host, hostErr := os.Hostname()
	for _, path := range paths {
		out = append(out, nodeMark.ReplaceAllStringFunc(path, func(mark string) (value string) {
			missing := ""
			switch mark {
			case "%j":
				value, missing = place.JobID, "names no job (SLURM_JOB_ID, TORCHELASTIC_RUN_ID)"
			case "%n":
				if place.NodeRank != nil {
					value = strconv.Itoa(*place.NodeRank)
				}
				missing = "numbers no node (GROUP_RANK, PET_NODE_RANK, JOB_COMPLETION_INDEX, SLURM_NODEID)"
			case "%h":
				if hostErr != nil {
					err = fail(exitUsage, "", "-o %s: %w", path, hostErr)
				}
				value, _, _ = strings.Cut(host, ".")
			case "%p":
				value = strconv.Itoa(os.Getpid())
			case "%%":
				return "%"
			}
			if value == "" && err == nil {
				err = fail(exitUsage, "use %h for the host, or %p for the process", "-o %s: %s: the environment %s",
					path, mark, missing)
			}
			return notWord.ReplaceAllString(value, "_")
		}))
	}
	return out, err
}

// nodeMark is what stands for a word of the node, and notWord what such a word may not hold, so that it leads to no
// other folder whoever chose it.
var nodeMark, notWord = regexp.MustCompile("%[jnhp%]"), regexp.MustCompile("[^A-Za-z0-9_-]")
