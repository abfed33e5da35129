package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pipetune/pipetune/internal/lint"
	"github.com/pipetune/pipetune/internal/saved"
	"github.com/pipetune/pipetune/internal/untrusted"
	"github.com/pipetune/pipetune/pkg/report"
)

type linting struct {
	format, certainty, failOn, python string
	report                            string
	chosen, ignored, exclude          []string
	fix, diff                         bool
}

func newLint(env Env) *cobra.Command {
	var l linting
	c := &cobra.Command{
		Use:   "lint PATH...",
		Short: "what can be read in the source of a training script, without running it",
		Long: `lint reads Python files and notebooks for what starves a GPU: loaders without
workers, files opened for each item, copies that wait, numbers taken off the GPU
in every step. The source is parsed by python3; nothing of it is imported or
run. Of a folder, hidden folders, virtual environments and installed packages
are left out.

A line that ends in "# pipetune: ignore" is left out, or one rule of it with
"# pipetune: ignore[RULE]". A file that cannot be read or parsed is named, the
others are judged all the same, and the exit code is 1, as with ruff.

Whether a finding costs anything shows when the job runs: pipetune diagnose.`,
		Example: `  pipetune lint train.py
  pipetune lint src --fix --diff            show what would be changed
  pipetune lint . --format sarif >lint.sarif
  pipetune lint . --report run.json         what a run says of each finding
  pipetune explain lint/handle-shared`,
		Args: expect(func(args []string) bool { return len(args) > 0 },
			"pipetune lint train.py, or a folder: pipetune lint .", "lint takes files or folders"),
		RunE: func(c *cobra.Command, args []string) error {
			asked, stop := env.Signals()
			defer stop()
			ctx, cancel := context.WithCancelCause(c.Context())
			defer cancel(nil)
			go func() {
				select {
				case s := <-asked:
					cancel(quietExit(requestCode(s)))
				case <-ctx.Done():
				}
			}()
			return l.run(ctx, env, args)
		},
	}
	f := c.Flags()
	f.StringVar(&l.format, "format", "text", "what to print: text, json, sarif or github")
	f.StringVar(&l.certainty, "certainty", string(lint.Likely), "show what is at least this certain: sure, likely or "+
		"possible")
	f.StringSliceVar(&l.chosen, "select", nil, "only these `RULES`")
	f.StringSliceVar(&l.ignored, "ignore", nil, "all but these `RULES`")
	f.StringSliceVar(&l.exclude, "exclude", nil, "leave out files and folders that match these `PATTERNS`")
	f.BoolVar(&l.fix, "fix", false, "change the files where a finding knows how")
	f.BoolVar(&l.diff, "diff", false, "with --fix: print the changes as a unified diff, and write nothing")
	f.StringVar(&l.report, "report", "", "a report or recording `FILE` of pipetune diagnose -- ...: a finding that it "+
		"has too is marked as measured, with its cost")
	f.StringVar(&l.failOn, "fail-on", "never", "exit 1 on a finding of this severity or worse: error, warning or never")
	f.StringVar(&l.python, "python", "python3", "the `INTERPRETER` that parses the files, 3.9 or newer")
	complete(c, "format", lintFormats()...)
	complete(c, "certainty", certainties()...)
	complete(c, "fail-on", failOn...)
	complete(c, "select", lintIDs()...)
	complete(c, "ignore", lintIDs()...)
	return c
}

func names[T any](list []T, name func(T) string) (all []string) {
	for _, each := range list {
		all = append(all, name(each))
	}
	return all
}

func lintFormats() []string {
	return names(lint.Formats(), func(f lint.Format) string { return f.Name })
}

func certainties() []string {
	return names(lint.Certainties, func(c lint.Certainty) string { return string(c) })
}

func lintIDs() []string { return names(lint.All(), func(r lint.Rule) string { return r.ID }) }

// request checks all that was asked for before a file is opened.
func (l *linting) request(paths []string) (lint.Request, error) {
	var r lint.Request
	if err := errors.Join(oneOf("format", l.format, lintFormats()...), oneOf("certainty", l.certainty,
		certainties()...),
		oneOf("fail-on", l.failOn, failOn...)); err != nil {
		return r, err
	}
	if l.diff && !l.fix {
		return r, fail(exitUsage, "pipetune lint --fix --diff", "--diff shows what --fix would change")
	}
	for _, p := range l.exclude {
		if _, err := filepath.Match(p, ""); err != nil {
			return r, fail(exitUsage, "", "--exclude %q: %w", p, err)
		}
	}
	rules, err := l.rules()
	if err != nil {
		return r, err
	}
	python, err := exec.LookPath(l.python)
	if err == nil {
		python, err = filepath.Abs(python)
	}
	if err != nil {
		return r, fail(exitUsage, "--python names the interpreter", "no %s to parse the files with: %w", l.python, err)
	}
	folder, err := os.Getwd()
	if err != nil {
		return r, fail(exitUsage, "", "%w", err)
	}
	files, err := lint.Files(paths, l.exclude)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return r, fail(exitUsage, "give a Python file, a notebook or a folder: pipetune lint .", "%w", err)
	case errors.Is(err, lint.ErrNoSource):
		return r, fail(exitUsage, "a Python file ends in .py or names python in its first line, a notebook ends in "+
			".ipynb", "%w", err)
	case err != nil:
		return r, fail(exitUsage, "", "%w", err)
	}
	return lint.Request{Python: python, Folder: folder, Files: files, Rules: rules, Least: lint.Certainty(l.certainty),
		Fix: l.fix}, nil
}

// rules are the ids that --select and --ignore leave.
func (l *linting) rules() (ids []string, err error) {
	named := func(flag string, list []string) (out []string) {
		for _, name := range list {
			r, known := lint.Find(strings.TrimSpace(name))
			if !known {
				err = fail(exitUsage, didYouMean(name, lintIDs()), "--%s: unknown rule %q", flag, name)
			}
			out = append(out, r.ID)
		}
		return out
	}
	chosen, ignored := named("select", l.chosen), named("ignore", l.ignored)
	for _, id := range lintIDs() {
		if (len(chosen) == 0 || slices.Contains(chosen, id)) && !slices.Contains(ignored, id) {
			ids = append(ids, id)
		}
	}
	return ids, err
}

func (l *linting) run(ctx context.Context, env Env, paths []string) error {
	request, err := l.request(paths)
	if err != nil {
		return err
	}
	if len(request.Files) == 0 {
		return fail(exitUsage, "", "there is no Python file and no notebook in %s", strings.Join(paths, ", "))
	}
	var measured *report.Report
	if l.report != "" {
		if measured, _, err = replay(env, l.report); err != nil {
			return err
		}
	}
	result, err := lint.Run(ctx, request)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fail(exitUsage, "--python names another interpreter", "%s: %w", request.Python, err)
	}
	if measured != nil {
		result.Mark(request, measured)
	}
	for _, u := range result.Unjudged {
		note(env.Stderr, untrusted.String(u.File).String()+" is not judged: "+u.Why)
	}
	if l.diff {
		var b bytes.Buffer
		for _, c := range result.Changes {
			b.Write(c.Diff)
		}
		_, err = env.Stdout.Write(b.Bytes())
	} else if err = l.write(env, result); err == nil {
		i := slices.IndexFunc(lint.Formats(), func(f lint.Format) bool { return f.Name == l.format })
		err = lint.Formats()[i].Write(env.Stdout, result, version)
	}
	if err != nil {
		return err
	}
	if n := len(result.Unjudged); n > 0 {
		return fail(exitGate, "--exclude leaves files out", "%d of %d files could not be judged", n, result.Files)
	}
	return l.gate(result)
}

// write changes the files.
func (l *linting) write(env Env, result lint.Result) error {
	for _, c := range result.Changes {
		if err := replace(c.File, c.Text); err != nil {
			return fail(exitUsage, "", "changing %s: %w", c.File, saved.Plain(err))
		}
		note(env.Stderr, "changed "+c.File)
	}
	return nil
}

// replace gives a file, or the one that a link names, another text: whole or not at all, and with the mode it has.
func replace(path string, text []byte) error {
	real, err := filepath.EvalSymlinks(path)
	info, statErr := os.Stat(path)
	if err = cmp.Or(err, statErr); err != nil {
		return err
	}
	f, err := saved.Create(real)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return f.Settle(errors.Join(err, f.Chmod(info.Mode().Perm())))
}

func (l *linting) gate(result lint.Result) error {
	for _, f := range result.Findings {
		if fatal(l.failOn, f.Severity) {
			return fail(exitGate, "", "--fail-on %s: %s in %s is %s", l.failOn, f.Rule, f.File, f.Severity)
		}
	}
	return nil
}
