package job

import (
	"strings"
	"testing"
)

func argv(line string) [][]byte {
	var out [][]byte
	for a := range strings.SplitSeq(line, "|") {
		out = append(out, []byte(a))
	}
	return out
}

// gives holds a function to what it gives for each of some inputs.
func gives[In, Out comparable](t *testing.T, f func(In) Out, table map[In]Out) {
	t.Helper()
	for in, want := range table {
		if got := f(in); got != want {
			t.Errorf("%v: %v, want %v", in, got, want)
		}
	}
}

func TestClassifyCommand(t *testing.T) {
	gives(t, func(line string) commandKind { return classifyCommand(argv(line)) }, map[string]commandKind{
		"python3|train.py": ordinary,
		"/usr/bin/python3|-c|" + spawnCode + "|--multiprocessing-fork":        spawnChild,
		"python3|-c|import sys; " + fserver:                                   forkServer,
		"python3|-c|" + trackCode:                                             tracker,
		"/opt/torch/bin/torch_shm_manager":                                    shmManager,
		"/usr/bin/python3|/opt/venv/bin/torchrun|--nproc-per-node=2|train.py": distributedRun,
		"python3.11|-m|torch.distributed.run|train.py":                        distributedRun,
		"python3|-u|-W|ignore|-m|accelerate.commands.launch|train.py":         distributedRun,
		"python3|train.py|torchrun":                                           ordinary,
		"python3|-m|mypackage.train|--launcher|torch.distributed.run":         ordinary,
		"bash|-c|torchrun train.py":                                           ordinary,
		"torchrun|train.py":                                                   distributedRun,
	})
	if got := classifyCommand(nil); got != ordinary {
		t.Errorf("no command line: %d", got)
	}
}

func TestIsInterpreter(t *testing.T) {
	gives(t, isInterpreter, map[string]bool{"python": true, "python3": true, "python3.13t": true, "python3-dbg": true,
		"pypy3": true, "pythonista": false, "python-config": false,
		"bash": false, "": false})
}

func TestIsRuntime(t *testing.T) {
	gives(t, isRuntime, map[string]bool{"/usr/bin/python3.11": true, "/opt/venv/lib/libpython3.12.so.1.0": true,
		"/usr/bin/python3.11 (deleted)": true, "/usr/lib/python3/dist-packages/numpy/core.so": false,
		"/home/me/python-notes.txt": false, "/usr/lib/libtorch_python.so": false})
}

func TestHDF5Release(t *testing.T) {
	gives(t, hdf5Release, map[string]string{
		"libhdf5_serial.so.103.3.1":       "1.10", // Debian 12, 1.10.8
		"libhdf5_serial.so.320.2.0":       "2.2",  // Debian sid, 2.2.0
		"libhdf5-1c84c4aa.so.310.5.1":     "1.14", // an h5py wheel
		"libhdf5.so.200":                  "1.12",
		"libhdf5.so.320":                  "2",
		"libhdf5.so.999.1.1":              "",
		"libhdf5_hl.so.310":               "", // the high-level library has numbers of its own
		"libhdf5_serial_hl.so.100.1.5":    "",
		"libhdf5_cpp.so.103":              "",
		"libhdf5.so":                      "",
		"libhdf5_openmpi.so.103":          "1.10",
		"libhdf5-1c84c4aa.so.310.5.1.bak": "",
	})
}

func TestLibrariesOf(t *testing.T) {
	l := librariesOf([]string{"/x/tensorflow/libtensorflow_framework.so.2", torchLib, "/usr/lib/libcuda.so.550.54",
		"/usr/lib/libpython3.12.so.1.0"})
	if l.framework != "pytorch" || l.accelerator != "cuda" || l.python != "3.12" && l.python != "3.11" {
		t.Errorf("%+v", l)
	}
	if l := librariesOf([]string{"/v/site-packages/jaxlib/xla_extension.so"}); l.framework != "jax" {
		t.Errorf("%+v", l)
	}
	if l := librariesOf([]string{torchLib, "/v/site-packages/tokenizers/tokenizers.abi3.so"}); !l.tokenizers ||
		l.framework != "pytorch" {
		t.Errorf("%+v", l)
	}
	if l := librariesOf(nil); l != (libraries{}) {
		t.Errorf("%+v", l)
	}
}

func TestAcceleratorOf(t *testing.T) {
	gives(t, acceleratorOf, map[string]string{"/dev/nvidia0": "cuda", "/dev/nvidia15": "cuda", "/dev/nvidiactl": "",
		"/dev/nvidia-uvm": "",
		"/dev/nvidia0x":   "", "/dev/kfd": "rocm", "/dev/dxg": "dxg", "/dev/null": ""})
	for want, maps := range map[string][]string{
		"cuda": {"/usr/lib/wsl/lib/libdxcore.so", "/usr/lib/wsl/lib/libcuda.so.1"},
		"rocm": {"/opt/rocm/lib/libamdhip64.so.6"},
		"dxg":  {"/usr/lib/wsl/lib/libdxcore.so"},
		"":     {"/usr/lib/x86_64-linux-gnu/libc.so.6"},
	} {
		if l := librariesOf(maps); l.accelerator != want {
			t.Errorf("%v: %q, want %q", maps, l.accelerator, want)
		}
	}
}
