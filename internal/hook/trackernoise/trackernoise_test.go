package trackernoise

import (
	"bytes"
	"os"
	"os/exec"
	"testing"

	"github.com/pipetune/pipetune/internal/must"
)

const (
	leaked = "/usr/lib/python3.11/multiprocessing/resource_tracker.py:224: UserWarning: resource_tracker: There " +
		"appear to be 6 leaked semaphore objects to clean up at shutdown\n  warnings.warn('resource_tracker: There " +
		"appear to be %d '\n"
	gone = "/usr/lib/python3.11/multiprocessing/resource_tracker.py:237: UserWarning: resource_tracker: " +
		"'/mp-2zvhbq5j': [Errno 2] No such file or directory\n  warnings.warn('resource_tracker: %r: %s' % (name, e))\n"
	named = "/usr/lib/python3.14/multiprocessing/resource_tracker.py:400: UserWarning: resource_tracker: There " +
		"appear to be 1 leaked semaphore objects to clean up at shutdown: {'/mp-x'}\n  warnings.warn(\n"
)

// TestWarningsAreTakenOut, and nothing else.
func TestWarningsAreTakenOut(t *testing.T) {
	for name, c := range map[string]struct {
		stderr, rest string
		warnings     int
	}{
		"nothing":                              {"", "", 0},
		"objects left":                         {leaked, "", 1},
		"object gone":                          {gone, "", 1},
		"objects named":                        {named, "", 1},
		"between other text":                   {"before\n" + leaked + gone + gone + "after\n", "before\nafter\n", 3},
		"without a last end of line of others": {leaked + "after", "after", 1},
	} {
		if rest, warnings := Strip(c.stderr); rest != c.rest || warnings != c.warnings {
			t.Errorf("%s: %d warnings, rest %q", name, warnings, rest)
		}
	}
	for name, stderr := range map[string]string{
		"a warning of the job": "/job/train.py:3: UserWarning: resource_tracker: There appear to be 6 leaked " +
			"semaphore objects to clean up at shutdown\n  warnings.warn('x')\n",
		"another warning there": "/usr/lib/python3.11/multiprocessing/resource_tracker.py:96: UserWarning: " +
			"resource_tracker: process died unexpectedly, relaunching.  Some resources might leak.\n  " +
			"warnings.warn('resource_tracker: process died unexpectedly, '\n",
		"an error of the tracker": "Traceback (most recent call last):\n  File " +
			"\"/usr/lib/python3.11/multiprocessing/resource_tracker.py\", line 209, in main\n    " +
			"cache[rtype].remove(name)\nKeyError: '/mp-x'\n",
		"cut short":                    leaked[:len(leaked)-40],
		"without the line of source":   leaked[:bytes.IndexByte([]byte(leaked), '\n')+1] + "something else\n",
		"not at the beginning of line": "job: " + leaked,
		"another kind of object": "/usr/lib/python3.11/multiprocessing/resource_tracker.py:224: UserWarning: " +
			"resource_tracker: There appear to be 6 leaked socket objects to clean up at shutdown\n  " +
			"warnings.warn('x'\n",
		"another category": "/usr/lib/python3.11/multiprocessing/resource_tracker.py:224: DeprecationWarning: " +
			"resource_tracker: There appear to be 6 leaked semaphore objects to clean up at shutdown\n  " +
			"warnings.warn('x'\n",
	} {
		if rest, warnings := Strip(stderr); rest != stderr || warnings != 0 {
			t.Errorf("%s: %d warnings, rest %q", name, warnings, rest)
		}
	}
}

// TestTheTrackersOwnWords has this machine's Python leave a semaphore to its tracker, and one that is gone.
func TestTheTrackersOwnWords(t *testing.T) {
	script := `import os, _multiprocessing
from multiprocessing import resource_tracker
left = _multiprocessing.SemLock(1, 1, 1, "/pipetune-left-%d" % os.getpid(), False)
resource_tracker.register(left.name, "semaphore")
resource_tracker.register("/pipetune-gone-%d" % os.getpid(), "semaphore")
os._exit(0)
`
	cmd := exec.Command(must.Interpreter(), "-c", script)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr // a pipe, which the tracker holds open until it has ended
	cmd.Env = append(os.Environ(), "PYTHONWARNINGS=")
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, stderr.Bytes())
	}
	if rest, warnings := Strip(stderr.String()); rest != "" || warnings != 2 {
		t.Errorf("%d warnings of %q, rest %q", warnings, stderr.String(), rest)
	}
}
