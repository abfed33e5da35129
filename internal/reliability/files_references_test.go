//go:build reliability

package reliability

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/must"
)

var referenceTrials = []trial{
	{id: "D5", fault: "HDF5 files that name other files", made: "external links, external storage and virtual " +
		"datasets that lead to a FIFO, /etc/shadow, /proc/self/environ, /dev/zero, a file beside the dataset's " +
		"folder, and the file itself; links in circles",
		target: "not followed and named; an exit code of the contract; no byte of the target in any output; no hang",
		run:    references},
	{id: "D7", fault: "a filter plugin planted in HDF5_PLUGIN_PATH",
		made: "a library that leaves a mark when it is loaded, and a file with its filter; h5py as the control " +
			"that loads it",
		target: "the mark never appears; the person's own interpreter, which is timed beside and has the person's " +
			"own environment, is left out by --python none", run: plantedPlugin},
}

// secret is what the target beside the dataset's folder holds.
const secret = "trial-secret-3f1c9a7e"

const referenceScript = `
import h5py, os, sys
os.chdir(sys.argv[1])
targets = dict(t.split("=", 1) for t in sys.argv[2:])

for name, target in targets.items():
    with h5py.File("link-%s.h5" % name, "w") as f:
        f["x"] = h5py.ExternalLink(target, "/x")
    with h5py.File("storage-%s.h5" % name, "w") as f:
        f.create_dataset("x", (4, 64), "u1", external=[(target, 0, h5py.h5f.UNLIMITED)])
    with h5py.File("virtual-%s.h5" % name, "w", libver="latest") as f:
        v = h5py.VirtualLayout((4, 64), "u1")
        v[:] = h5py.VirtualSource(target, "x", (4, 64))
        f.create_virtual_dataset("x", v)

with h5py.File("circles.h5", "w") as f:
    f["soft"] = h5py.SoftLink("/soft")
    f["a"] = h5py.SoftLink("/b")
    f["b"] = h5py.SoftLink("/a")
    g = f.create_group("g")
    g["up"] = f["/"]
    g["self"] = g
`

func references(s *stand) {
	folder, beside := s.folder("dataset"), s.folder("beside")
	fifo, hidden := filepath.Join(folder, "fifo"), filepath.Join(beside, "hidden.bin")
	must.Do(s, unix.Mkfifo(fifo, 0o600))
	must.Do(s, os.WriteFile(hidden, []byte(strings.Repeat(secret+" ", 100)), 0o600))
	targets := []string{"fifo=" + fifo, "shadow=/etc/shadow", "environ=/proc/self/environ", "zero=/dev/zero",
		"hidden=" + hidden, "up=../" + filepath.Base(beside) + "/hidden.bin", "self=storage-self.h5"}
	must.Python(s, append([]string{"-c", referenceScript, folder}, targets...)...)
	const inEnvironment = "TRIAL_MARK=5b1d77c0"
	forbidden := []string{secret, inEnvironment}
	for line := range strings.Lines(string(must.Get(os.ReadFile("/etc/shadow"))(s))) {
		if fields := strings.Split(line, ":"); len(fields) > 2 {
			forbidden = append(forbidden, strings.Join(fields[:3], ":"))
		}
	}
	paths := must.Get(filepath.Glob(filepath.Join(folder, "*.h5")))(s)
	unnamed := []string{}
	slowest := time.Duration(0)
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".h5")
		out := s.folder("out")
		p := s.pipetune([]string{"bench-io", "-q", "--no-redact", "--budget", "2s", "-o",
			filepath.Join(out, "out.json"), path}, func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, inEnvironment) })
		status, took := p.ending(2 * time.Minute)
		slowest = max(slowest, took)
		said := fmt.Sprint(everything(s, p, out))
		if status != 3 {
			s.Errorf("%s: exit status %d, where there is nothing of its own to read: %s", name, status, said)
		}
		for _, f := range forbidden {
			if strings.Contains(said, f) {
				s.Errorf("%s: bytes of a target are in what is written", name)
			}
		}
		_, which, _ := strings.Cut(name, "-")
		for _, t := range targets {
			if key, target, _ := strings.Cut(t, "="); key == which && !strings.Contains(said, target) {
				unnamed = append(unnamed, name)
				s.Logf("%s: %s", name, said)
			}
		}
	}
	s.measured("%d files, none followed, no byte of a target in any output; the slowest run took %.1f s", len(paths),
		slowest.Seconds())
	if len(unnamed) > 0 {
		s.missed("what it leads to is not named: %s", strings.Join(unnamed, ", "))
	}
}

// pluginSource is a filter plugin as H5PLextern.h describes it, number 31999, that leaves a mark when it is loaded.
const pluginSource = `
#include <fcntl.h>
#include <hdf5.h>
#include <H5PLextern.h>
__attribute__((constructor)) static void mark(void) { open(MARK, O_CREAT | O_WRONLY, 0600); }
static size_t pass(unsigned flags, size_t n, const unsigned *v, size_t bytes, size_t *size, void **buf) { return bytes; }
static const H5Z_class2_t filter = {H5Z_CLASS_T_VERS, 31999, 1, 1, "planted", NULL, NULL, pass};
H5PL_type_t H5PLget_plugin_type(void) { return H5PL_TYPE_FILTER; }
const void *H5PLget_plugin_info(void) { return &filter; }
`

// filteredScript writes a chunk that went through filter 31999, which nobody has.
const filteredScript = `
import h5py, sys
with h5py.File(sys.argv[1], "w") as f:
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_chunk((1, 64))
    plist.set_filter(31999, h5py.h5z.FLAG_OPTIONAL)
    d = h5py.h5d.create(f.id, b"x", h5py.h5t.NATIVE_UINT8, h5py.h5s.create_simple((4, 64)), plist)
    for i in range(4):
        d.write_direct_chunk((i, 0), bytes(64), 0)
`

func plantedPlugin(s *stand) {
	folder, mark, file := s.folder("plugins"), s.in("mark"), filepath.Join(s.folder("filtered"), "filtered.h5")
	s.library(filepath.Join(folder, "libplanted.so"), pluginSource, "-I/usr/include/hdf5/serial",
		fmt.Sprintf("-DMARK=%q", mark))
	must.Python(s, "-c", filteredScript, file)
	planted := func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, "HDF5_PLUGIN_PATH="+folder) }
	marked := func() bool {
		_, err := os.Stat(mark)
		return err == nil
	}
	control := s.start("python", []string{s.python, "-c", "import h5py, sys; h5py.File(sys.argv[1])['x'][0]", file},
		planted)
	control.wait(time.Minute)
	if !marked() {
		s.Fatalf("the control does not load the plugin, so that this trial shows nothing: %s", control.complaints())
	}
	must.Do(s, os.Remove(mark))
	bench := []string{"bench-io", "-q", "--budget", "2s", "--python", "none"}
	runs := 0
	for _, args := range [][]string{append(bench, "-v", file), append(bench, "--follow", file),
		append(bench, filepath.Dir(file)), {"doctor"}} {
		s.pipetune(args, planted).ends(2*time.Minute, 0, 1, 2, 3, 4)
		if runs++; marked() {
			s.Fatalf("%v has loaded the plugin", args)
		}
	}
	s.measured("%d runs, no mark; h5py with the same variables has left one", runs)
}
