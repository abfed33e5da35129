package benchrun

import "testing"

func TestBesidePackage(t *testing.T) {
	for library, want := range map[string]string{
		"/home/a/.venv/lib/python3.11/site-packages/torch/lib/libtorch.so":         "/home/a/.venv/bin/python3",
		"/opt/conda/envs/x/lib/python3.12/site-packages/h5py/_conv.cpython-312.so": "/opt/conda/envs/x/bin/python3",
		"/usr/lib/python3/dist-packages/h5py/_debian_h5py_serial/_conv.so":         "",
		"/usr/lib/x86_64-linux-gnu/libc.so.6":                                      "",
		"/srv/site-packages/a.so":                                                  "",
	} {
		if got := besidePackage(library); got != want {
			t.Errorf("%s: %q, want %q", library, got, want)
		}
	}
}
