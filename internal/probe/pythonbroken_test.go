package probe

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/pkg/report"
)

// fakePython is a program that stands for a broken interpreter: it ignores its arguments.
func fakePython(t *testing.T, script string) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "python3")
	must.Do(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755))
	return []string{path}
}

const oneRound = `
echo 'pipetune-answer:{"subject":0,"metric":"item_time_s","labels":{"decoder":"pil\u001blow","odd":"x"}}'
echo 'pipetune-answer:{"round":0,"units":4,"seconds":0.002}'
`

// asLibraries lets a fake interpreter answer the first question, about its libraries, and then do something.
func asLibraries(then string) string {
	return `n=$(head -c 6 | tr -dc 0-9); rest=$(cat)
case "$rest" in *"Says which libraries"*) echo 'pipetune-answer:{"libraries":[["Python","3.99"],["Pillow","1\u001b"]]}'; exit;; esac
` + then
}

func TestBrokenInterpreters(t *testing.T) {
	sample := dataset.Sample{Source: dataset.Source{Kind: dataset.Image}}
	for name, c := range map[string]struct {
		script  string
		figures int
		says    string // the error, or a warning where there are figures
	}{
		"chatter around the answers": {"echo hello; echo pipetune; printf 'no end of line'; echo" + oneRound +
			`echo 'x pipetune-answer:{"round":0}'; echo 'pipetune-answer:{"done":true}'`, 1, ""},
		"dies in the middle": {oneRound + `echo "Fatal Python error: Segmentation fault" >&2; kill -SEGV $$`, 1,
			"signal 11, segmentation fault): Fatal Python error: Segmentation fault"},
		"dies at once": {"kill -KILL $$", 0, "signal 9"},
		"fails with a traceback": {`printf 'warning: x\nTraceback (most recent call last):\n  File "x"\nKeyError: 7\n' >&2; exit 1`, 0,
			"exit status 1): KeyError: 7"},
		"says nothing":      {"exit 0", 0, "without an answer"},
		"prints garbage":    {"echo 'pipetune-answer:{{{'; sleep 1000", 0, "nonsense"},
		"an unknown metric": {`echo 'pipetune-answer:{"subject":0,"metric":"x"}'`, 0, "nonsense"},
		"a round of nothing": {oneRound + `echo 'pipetune-answer:{"round":5,"units":1,"seconds":1}'`, 1,
			"nonsense"},
		"a round of no time ends": {oneRound + `echo 'pipetune-answer:{"round":0,"units":0,"seconds":1}'`, 1,
			"nonsense"},
		"an endless line":       {`head -c 300000 /dev/zero | tr '\0' x; echo` + oneRound, 1, ""},
		"leaves a child behind": {oneRound + `sleep 1000 & exit 0`, 1, ""}, // it holds the pipe open until it is killed
	} {
		t.Run(name, func(t *testing.T) {
			s := pythonSession(t, fakePython(t, asLibraries(c.script)), sample, time.Second)
			err := timePython(t.Context(), s)
			if got := len(s.result.Rows.Measurements()); got != c.figures {
				t.Fatalf("%d figures, want %d: %v, %q", got, c.figures, err, s.result.Warnings)
			}
			said := strings.Join(s.result.Warnings, "\n")
			if err != nil {
				said += err.Error()
			}
			if !strings.Contains(said, c.says) || (err == nil) != (c.figures > 0) {
				t.Errorf("error %v, warnings %q; want %q", err, s.result.Warnings, c.says)
			}
			if c.figures > 0 {
				m := s.result.Rows.Measurements()[0]
				if m.Value.Center != 0.0005 || m.Labels["odd"] != "" ||
					strings.ContainsRune(m.Labels[report.LabelDecoder], 0x1b) {
					t.Errorf("%+v", m)
				}
			}
		})
	}
}

func TestNoPythonAtAll(t *testing.T) {
	for name, argv := range map[string][]string{
		"not there":     {"/nonexistent/python3"},
		"nobody":        nil,
		"another tool":  {"/bin/true"},
		"a failing one": fakePython(t, "echo 'python3: error while loading shared libraries' >&2; exit 127"),
		"too old":       {"/bin/sh", "-c", "echo 'Python 3.8 or newer is needed' >&2; exit 1", "sh"},
	} {
		t.Run(name, func(t *testing.T) {
			if list, err := PythonLibraries(t.Context(), argv); err == nil {
				t.Errorf("libraries %q", list)
			}
		})
	}
}
