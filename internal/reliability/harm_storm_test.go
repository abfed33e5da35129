//go:build reliability

package reliability

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/must"
)

// storm is one shape of the fork storm.
type storm struct {
	method     string
	persistent bool
	epochs     int
}

var stormTrials = []trial{
	{
		id: "H8", fault: "DataLoader workers begin and end again and again with the hook inside", long: true,
		made: "8 workers × 1,000 epochs by fork, and 1,000 (RELIABILITY_EPOCHS) by spawn and forkserver, " +
			"persistent_workers on and off; PyTorch of this machine and of RELIABILITY_TORCH",
		target: "no hang (no epoch over 10 times the median, and over 2 s: less is the scheduler's doing), output, " +
			"stderr and status as bare",
		run: func(s *stand) {
			// By spawn, 8 workers that import PyTorch take 2 CPUs seconds: 1,000 epochs are hours for each of the
			// methods.
			slow := int(s.number("RELIABILITY_EPOCHS", 1000))
			s.shortened("RELIABILITY_EPOCHS", float64(slow), 1000)
			storms(s, []storm{{"fork", false, 1000}, {"fork", true, 1000}, {"spawn", false, slow},
				{"spawn", true, slow}, {"forkserver", false, slow}, {"forkserver", true, slow}})
		},
	},
	{
		id: "H8-short", fault: "as H8", made: "8 workers × 20 epochs by fork, 3 by spawn and forkserver, " +
			"persistent_workers on and off",
		target: "as H8", run: func(s *stand) {
			storms(s, []storm{{"fork", false, 20}, {"fork", true, 20}, {"spawn", false, 3}, {"spawn", true, 3},
				{"forkserver", false, 3}, {"forkserver", true, 3}})
		},
	},
}

// inRoot makes a command run in a chroot that sees the trial's working folder under its own name; "": none.
func (s *stand) inRoot(root string, argv []string) []string {
	s.Helper()
	if root == "" {
		return argv
	}
	// The script lies outside of the chroot: a copy of it in the working folder does not.
	argv = slices.Clone(argv)
	for i, arg := range argv {
		if strings.HasSuffix(arg, ".py") {
			text := must.Get(os.ReadFile(arg))(s)
			argv[i] = filepath.Join(s.work, filepath.Base(arg))
			must.Do(s, os.WriteFile(argv[i], text, 0o644))
		}
	}
	s.Cleanup(func() {
		if err := exec.Command("rmdir", "-p", "--ignore-fail-on-non-empty", root+s.work).Run(); err != nil {
			s.Log(err) // made by the job only
		}
	})
	lines := []string{
		"mount --bind " + root + " " + root, "mount -t proc proc " + root + "/proc", "mount --rbind /dev " + root +
			"/dev",
		"mkdir -p " + root + s.work, "mount --bind " + s.work + " " + root + s.work, `exec chroot "` + root + `" "$@"`,
	}
	return append([]string{"unshare", "--mount", "--propagation", "private", "--", "/bin/sh", "-ec",
		strings.Join(lines, "\n"), "sh"}, argv...)
}

// storms runs each shape launched, and once bare: what a job prints does not depend on how its workers begin.
func storms(s *stand, shapes []storm) {
	for _, root := range roots() {
		bares := map[int]*command{}
		for _, shape := range shapes {
			name := fmt.Sprintf("%s, persistent %t, %d epochs %s", shape.method, shape.persistent, shape.epochs, root)
			j := paced{batches: 16, workers: 8, epochs: shape.epochs, method: shape.method,
				persistent: shape.persistent}
			if bares[shape.epochs] == nil {
				plain := j
				plain.method, plain.persistent = "fork", true
				bares[shape.epochs] = s.start("bare", s.inRoot(root, plain.argv(s, "")))
			}
			times := filepath.Join(s.work, "times.json")
			c := s.launch(filepath.Join(s.work, "report.json"), s.inRoot(root, j.argv(s, times)))
			if !s.same(name, bares[shape.epochs], c) {
				continue
			}
			c.alone()
			ended := s.noted(times).Ended
			var took []float64
			for i := 1; i < len(ended); i++ {
				took = append(took, ended[i]-ended[i-1])
			}
			usual, longest := centre(took), slices.Max(took)
			s.measured("%s: median epoch %.2f s, longest %.2f s", name, usual, longest)
			// The first epoch of persistent workers begins them, which by spawn takes seconds: it is no hang.
			if later := slices.Max(append(took[1:], 0)); later > max(10*usual, 2) {
				s.missed("%s: an epoch took %.2f s, %.0f times the median; it ended, so it was no deadlock", name,
					later, later/usual)
			}
		}
	}
	s.leftNothing()
}
