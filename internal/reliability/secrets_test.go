//go:build reliability

package reliability

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pipetune/pipetune/internal/must"
)

var secretTrials = []trial{
	{id: "N4-run", fault: "secrets on the command line of a watched process",
		made: "`diagnose --pid` of a process with 207 planted ones of 11 kinds (flags, variables, URLs, shapes of 43 " +
			"issuers, several lines, split, JSON, shell, paths) as arguments: recording, text, md, json, stdout, " +
			"stderr; once more with --no-arguments",
		target: "0 leaks in any file or stream, at write time; with --no-arguments no argument at all",
		run:    hiddenInRun},
	{id: "N4-messages", fault: "secrets in what pipetune is given itself, in names of files and in a job's traceback",
		made: "bad flags, missing files, unstartable commands, a job that raises, a hook's file and class names, " +
			"each holding a secret",
		target: "0 leaks in messages, reports and recording", run: hiddenInMessages},
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// leaked says whether a secret or a half of it can be read.
func leaked(shown, secret string) bool {
	half := len(secret) / 2
	return strings.Contains(shown, secret[:half]) || strings.Contains(shown, secret[half:])
}

// everything is what a run has written anywhere: its streams and its files.
func everything(s *stand, c *command, dir string) map[string]string {
	s.Helper()
	all := map[string]string{"stdout": string(c.output()), "stderr": c.complaints()}
	for _, f := range must.Get(os.ReadDir(dir))(s) {
		all[f.Name()] = string(must.Get(os.ReadFile(filepath.Join(dir, f.Name())))(s))
	}
	return all
}

func hiddenInRun(s *stand) {
	// watched runs a watch of a process with these arguments, and returns what was written.
	watched := func(argv []string, flags ...string) map[string]string {
		job := s.start("job", slices.Concat([]string{"python3", "-c",
			"import time\nprint('up', flush=True)\ntime.sleep(300)"}, argv), s.asPython)
		job.awaitLines(1)
		defer job.kill()
		out := s.folder("out")
		c := s.pipetune(watchOf(job, "6s", append(flags, into(out, ".txt .md .json .jsonl")...)...))
		c.ends(2*time.Minute, 0, 3)
		return everything(s, c, out)
	}
	secrets := planted()
	leaks, places, size := 0, 0, 0
	// More arguments than are recorded would hide the rest: several processes share them.
	for part := range slices.Chunk(secrets, 80) {
		var argv []string
		for _, p := range part {
			argv = append(argv, p.argv...)
		}
		files := watched(argv)
		if !strings.Contains(files["out.jsonl"], `"command":[`) || !strings.Contains(files["out.jsonl"],
			"redacted\\u003e") {
			s.Errorf("the recording holds no command line: %.300s", files["out.jsonl"])
		}
		for name, text := range files {
			places++
			size += len(text)
			for _, p := range part {
				if leaked(text, p.leak) {
					leaks++
					s.Errorf("%s leaks into %s", p.kind, name)
				}
			}
		}
	}
	for name, text := range watched([]string{"PLAIN-WORD-OF-NO-SHAPE"}, "--no-arguments") {
		if strings.Contains(text, "PLAIN-WORD") || strings.Contains(text, "time.sleep") {
			s.Errorf("--no-arguments: an argument stands in %s", name)
		}
	}
	s.measured("%d secrets, %d files and streams of %d bytes: %d leaks; with --no-arguments no argument", len(secrets),
		places, size, leaks)
}

func hiddenInMessages(s *stand) {
	const token = "hf_QwErTyUiOpAsDfGhJkLzXcVbNm12345678"
	url := "https://me:" + token[3:] + "@host/x"
	runs, leaks := 0, 0
	check := func(what string, c *command, dir string) {
		runs++
		for name, text := range everything(s, c, dir) {
			if leaked(text, token[3:]) {
				leaks++
				s.Errorf("%s: leaks into %s", what, name)
			}
		}
	}
	for _, args := range [][]string{
		{"report", "/nonexistent/" + token + ".json"}, {"report", url}, {"compare", token, url},
		{"bench-io", "/nonexistent/token=" + token[3:]}, {"bench-io", url},
		{"diagnose", "--pid", token}, {"diagnose", "--format", token}, {"diagnose", "-o", "/nonexistent/" + token +
			".json"}, {"diagnose", "--no-such-flag=" + token}, {token}, {"explain", token},
		{"diagnose", token}, {"diagnose", "--", "/nonexistent/" + token}, {"diagnose", "--", "env", "HF_TOKEN=" + token,
			"/nonexistent/program"},
	} {
		c := s.pipetune(args)
		if status := c.wait(2 * time.Minute); status == 0 {
			s.Errorf("%.40q: exit 0", args)
		}
		check(fmt.Sprintf("%.20q", args), c, s.folder("none"))
	}
	script := filepath.Join(s.folder("token="+token[3:]), "train.py")
	const source = `
import sys, time, torch
from torch.utils.data import DataLoader, Dataset
SECRET = "` + token + `"
class Numbers(Dataset):
    def __len__(self): return 300
    def __getitem__(self, i):
        time.sleep(0.002)
        if i == 299: open("/nonexistent/" + SECRET)
        return torch.zeros(4)
Numbers.__qualname__ = Numbers.__name__ = "Numbers_" + SECRET
try:
    for epoch in range(3):
        for batch in DataLoader(Numbers(), batch_size=4, num_workers=1):
            time.sleep(0.03)
except Exception as e:
    print(type(e).__name__)
    time.sleep(8)
`
	s.write(script, source)
	out := s.folder("out")
	// what the interpreter leaves is the job's
	c := s.pipetune(slices.Concat([]string{"diagnose"}, into(out, ".txt .md .json .jsonl"), []string{"--", "env",
		"TMPDIR=" + s.folder("job-tmp"), s.python, script}))
	c.ends(5*time.Minute, 0)
	check("a job that raises", c, out)
	s.measured("%d runs: %d leaks", runs, leaks)
}
