package sampler

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/perf"
	"github.com/pipetune/pipetune/internal/procfs"
)

// trainingMaps is what a trainer of PyTorch may execute, 0x1000 addresses each.
const trainingMaps = `00001000-00002000 r-xp 00000000 fe:00 1                    /usr/bin/python3.11
00002000-00003000 r-xp 00000000 fe:00 2                    /opt/venv/lib/python3.11/site-packages/torch/lib/libtorch_cpu.so
00003000-00004000 r-xp 00000000 fe:00 3                    /usr/lib/x86_64-linux-gnu/libcuda.so.550.54.15
00004000-00005000 r--p 00000000 fe:00 3                    /usr/lib/x86_64-linux-gnu/libcuda.so.550.54.15
00005000-00006000 r-xp 00000000 fe:00 4                    /usr/lib/x86_64-linux-gnu/libc.so.6
00006000-00007000 r-xp 00000000 00:00 0
00007000-00008000 r-xp 00000000 00:00 0                    [vdso]
00009000-0000a000 r-xp 00000000 fe:00 5                    /opt/venv/lib/python3.11/site-packages/h5py.libs/libhdf5-346dbfc6.so.200.1.0
0000a000-0000b000 r-xp 00000000 fe:00 6                    /usr/lib/python3/dist-packages/PIL/_imaging.cpython-311-x86_64-linux-gnu.so
`

const (
	inPython, inTorch, inDevice, inLibc, inJIT, inVDSO = 0x1800, 0x2800, 0x3800, 0x5800, 0x6800, 0x7800
	inLate                                             = 0x8800 // a library loaded during the watch
	inHDF5, inPillow                                   = 0x9800, 0xa800
)

// playedClock hands out samples that a test puts in.
type playedClock struct {
	samples []uint64
	closed  bool
}

func (c *playedClock) Drain(visit func(uint64)) {
	for _, ip := range c.samples {
		visit(ip)
	}
	c.samples = nil
}

func (c *playedClock) Close() { c.closed = true }

// playedHost is a Host whose kernel is the test.
type playedHost struct {
	cpu map[int]time.Duration // of main threads
	*Host
	*machine
	clocks   map[int]*playedClock
	maps     string
	readings atomic.Int32
	broken   error
}

func newPlayedHost(t *testing.T) *playedHost {
	p := &playedHost{machine: newJob(t, 0), clocks: map[int]*playedClock{}, maps: trainingMaps}
	p.Host = NewHost(procfs.FS{Root: p.Dir}, p.machine)
	p.open = func(tid int) (hostClock, error) {
		c := &playedClock{}
		p.clocks[tid] = c
		return c, nil
	}
	p.used = func(id procfs.ID) (time.Duration, error) {
		used, known := p.cpu[id.PID]
		if !known {
			return 0, errors.New("not known")
		}
		return used, nil
	}
	p.code = func(procfs.ID) ([]procfs.Mapping, error) {
		p.readings.Add(1)
		if p.broken != nil {
			return nil, p.broken
		}
		return procfs.ParseCode(strings.NewReader(p.maps))
	}
	return p
}

// sample lets time pass and samples.
func (p *playedHost) sample(t *testing.T, length time.Duration) *book {
	b := newBook()
	p.sampleTo(t, b, length)
	return b
}

func (p *playedHost) sampleTo(t *testing.T, b *book, length time.Duration) {
	for range length / hostEvery {
		time.Sleep(hostEvery) // of the played clock
		p.Sample(t.Context(), b)
		synctest.Wait()
	}
}

func TestHostSamplesByCode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlayedHost(t)
		defer p.Close()
		p.sample(t, hostEvery) // opens the clock, reads the maps
		if len(p.clocks) != 1 {
			t.Fatalf("clocks on %v", p.clocks)
		}
		p.clocks[100].samples = []uint64{inPython, inLibc, inTorch, inDevice, inLibc, inLibc, inVDSO, inJIT, inPython}
		p.machine.autograd(100, 110)
		b := p.sample(t, 2*hostEvery)
		b.want(t, trainer100, map[metric.Desc]float64{metric.HostSamples: 9, metric.HostSamplesDevice: 4,
			metric.HostSamplesReading: 0, metric.HostSamplesModel: 2})

		// What reading copies, in the C library, is reading too; what Python does is not.
		p.clocks[100].samples = []uint64{inLibc, inHDF5, inLibc, inLibc, inPillow, inPython, inLibc}
		p.clocks[110].samples = []uint64{inTorch, inTorch}
		b = p.sample(t, hostEvery)
		b.want(t, autograd100, map[metric.Desc]float64{metric.HostSamples: 2, metric.HostSamplesDevice: 0,
			metric.HostSamplesModel: 2})
		b.want(t, trainer100, map[metric.Desc]float64{metric.HostSamples: 16, metric.HostSamplesDevice: 4,
			metric.HostSamplesReading: 4})
		if p.readings.Load() != 1 {
			t.Errorf("the maps were read %d times", p.readings.Load())
		}

		// A library that comes late is found, and one that is nowhere is looked for at most every few seconds.
		p.maps += "00008000-00009000 r-xp 00000000 fe:00 9 /v/site-packages/torch/lib/libc10_cuda.so\n"
		p.clocks[100].samples = []uint64{inLate}
		p.sample(t, time.Second).want(t, trainer100, map[metric.Desc]float64{metric.HostSamples: 16})
		p.sample(t, codeEvery).want(t, trainer100, map[metric.Desc]float64{metric.HostSamples: 17})
		before := int(p.readings.Load())
		for range 100 {
			p.clocks[100].samples = []uint64{0xffff}
			b = p.sample(t, hostEvery)
		}
		if most := int(100*hostEvery/codeEvery) + 1; int(p.readings.Load())-before > most {
			t.Errorf("%d readings of the maps in %v", int(p.readings.Load())-before, 100*hostEvery)
		}
		if got := b.get(t, metric.HostSamples, trainer100); got < 90 {
			t.Errorf("unknown code is not counted: %v", got)
		}

		main, backward := p.clocks[100], p.clocks[110]
		p.machine.autograd(100)
		p.sample(t, hostEvery)
		if !backward.closed || main.closed {
			t.Error("the clock of a thread that is gone is kept, or another closed")
		}
		p.remove(100)
		p.sample(t, hostEvery)
		if !main.closed || p.Host.clocks != 0 {
			t.Errorf("%d clocks are left", p.Host.clocks)
		}
	})
}

// TestHostRefused says why there are no samples, once, and goes on.
func TestHostRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlayedHost(t)
		p.open = func(int) (hostClock, error) { return nil, fmt.Errorf("opening a clock: %w", syscall.EPERM) }
		b := p.sample(t, 10*hostEvery)
		if len(b.unseen) != 1 || b.unseen[0].signal != "host_samples*" || b.unseen[0].entity != trainer100 ||
			b.unseen[0].cure == "" || len(b.last) != 0 {
			t.Errorf("noted %v, recorded %v", b.unseen, b.names())
		}
		p.Close()

		p = newPlayedHost(t)
		p.broken = errors.New("maps cannot be read")
		b = p.sample(t, 10*hostEvery)
		p.clocks[100].samples = make([]uint64, 2*maxUnmapped)
		p.sample(t, hostEvery)
		if len(b.unseen) != 1 || b.unseen[0].reason != "maps cannot be read" || p.sample(t, hostEvery).get(t,
			metric.HostSamples, trainer100) != 0 {
			t.Errorf("noted %v", b.unseen)
		}
		p.Close()
	})
}

func TestCodeOf(t *testing.T) {
	for file, want := range map[string]codeClass{
		"/usr/lib/x86_64-linux-gnu/libcuda.so.1":                                        codeDevice,
		"/usr/lib/wsl/drivers/nv_dispi.inf_amd64/libcuda.so.1.1":                        codeDevice,
		"/v/site-packages/nvidia/cuda_runtime/lib/libcudart.so.12":                      codeDevice,
		"/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.550.54":                              codeDevice,
		"/opt/rocm/lib/libhsa-runtime64.so.1.13.0":                                      codeDevice,
		"/v/site-packages/torch/lib/libtorch_python.so":                                 codeOther,
		"/v/site-packages/torch/lib/libtorch_cpu.so":                                    codeModel,
		"/v/site-packages/h5py.libs/libhdf5-346dbfc6.so.200.1.0":                        codeReading,
		"/v/site-packages/PIL/_imaging.cpython-311-x86_64-linux-gnu.so":                 codeReading,
		"/v/site-packages/pillow.libs/libjpeg-45e70d75.so.62.4.0":                       codeReading,
		"/usr/lib/python3.11/lib-dynload/zlib.cpython-311-x86_64-linux-gnu.so":          codeReading,
		"/usr/lib/x86_64-linux-gnu/libz.so.1.2.13":                                      codeReading,
		"/v/site-packages/torch/lib/libc10.so (deleted)":                                codeOther,
		"/usr/bin/python3.11":                                                           codeOther,
		"/usr/lib/libpython3.13.so.1.0":                                                 codeOther,
		"/v/site-packages/numpy/core/_multiarray_umath.cpython-311-x86_64-linux-gnu.so": codeOther,
		"/usr/lib/python3.11/lib-dynload/_bz2.so":                                       codeOther,
		"/v/site-packages/cryptography/hazmat/bindings/_rust.abi3.so":                   codeOther,
		"/v/site-packages/numpy.libs/libopenblas64_p-r0.so":                             codeOther,
		"/v/site-packages/nvidia/cublas/lib/libcublas.so.12":                            codeOther,
		"/usr/lib/x86_64-linux-gnu/libc.so.6":                                           codeLibc,
		"/usr/lib/x86_64-linux-gnu/libcudnn.so.9":                                       codeOther,
		"[vdso]": codeClock,
		"":       codeOther,
	} {
		if got := codeOf(file); got != want {
			t.Errorf("%s: %d, want %d", file, got, want)
		}
	}
	ranges := must.Get(procfs.ParseCode(strings.NewReader("7000-8000 r-xp 00000000 00:00 0 [vdso]\n1000-2000 r-xp " +
		"00000000 fe:00 1 /usr/bin/python3\n")))(t)
	m := newCodeMap(ranges)
	for ip, want := range map[uint64]codeClass{0x1000: codeOther, 0x1fff: codeOther,
		0x7000: codeOther} { // no device: the clock is nobody's
		if got, found := m.find(ip); !found || got != want {
			t.Errorf("%#x: %d, %v", ip, got, found)
		}
	}
	for _, ip := range []uint64{0, 0xfff, 0x2000, 0x8000, 1 << 63} {
		if got, found := m.find(ip); found {
			t.Errorf("%#x: %d", ip, got)
		}
	}
}

// TestWorkersByLibrary: workers are sampled in turn, and their samples counted by library; what one that ends leaves
// unplaced is other code.
func TestWorkersByLibrary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlayedHost(t)
		p.process(101, job.Worker, 100)
		p.process(102, job.Worker, 100)
		const before = 10 * time.Second
		samples := func(n int) time.Duration {
			return before + time.Duration(n)*time.Second/perf.Hertz + time.Millisecond
		}
		p.cpu = map[int]time.Duration{101: before} // of the second one it is not known
		b := newBook()
		watch := func(length time.Duration) { p.sampleTo(t, b, length) }
		watch(hostEvery)
		counted := func(want map[string]float64) {
			t.Helper()
			watch(2 * librariesEvery)
			for library, n := range want {
				if got := b.get(t, metric.WorkerCode, job.CodeEntity(p.Tree().Trainers()[0].ID, library)); got != n {
					t.Errorf("%s: %v samples, want %v", library, got, n)
				}
			}
		}
		first := p.clocks[101]
		first.samples = []uint64{inLibc, inPillow, inLibc, inHDF5, inPython, inJIT, inTorch, inVDSO, inDevice}
		p.cpu[101] = samples(9 + 20)
		counted(map[string]float64{"PIL": 1, "libhdf5": 1, "libtorch_cpu": 1, "libcuda": 1, "libc": 2,
			metric.CodePython: 1, metric.CodeOther: 2, metric.CodeKernel: 20})
		p.cpu[101] = samples(9 + 20 + 50)
		time.Sleep(mostUndrained) // samples may have been lost meanwhile: they are not the kernel's
		watch(hostEvery)
		p.cpu[101] = samples(9 + 20 + 50 + 5)
		watch(workerTurn) // the last reading is at its end
		second := p.clocks[102]
		if !first.closed || second == nil || second.closed {
			t.Fatalf("after its turn the first worker's clock is closed: %v; clocks: %v", first.closed, p.clocks)
		}
		second.samples = []uint64{inPillow, inLate}
		watch(hostEvery)
		second.samples = []uint64{inHDF5}
		p.remove(102)
		counted(map[string]float64{"PIL": 2, "libhdf5": 2, metric.CodeOther: 3, metric.CodeKernel: 25})
		if !second.closed || p.clocks[101] == first || p.clocks[101].closed {
			t.Errorf("the second worker ended: its clock is closed: %v", second.closed)
		}
		p.remove(100)
		watch(hostEvery)
		if !p.clocks[101].closed || p.Host.clocks != 0 {
			t.Errorf("%d clocks are left", p.Host.clocks)
		}
		p.Close()
	})
}

func TestLibraryOf(t *testing.T) {
	for file, want := range map[string]string{
		"/usr/lib/x86_64-linux-gnu/libjpeg.so.62.3.0":                                    "libjpeg",
		"/v/site-packages/pillow.libs/libjpeg-45e70d75.so.62.4.0":                        "libjpeg",
		"/v/site-packages/PIL/_imaging.cpython-311-x86_64-linux-gnu.so":                  "PIL",
		"/v/site-packages/numpy/_core/_multiarray_umath.cpython-311-x86_64-linux-gnu.so": "numpy",
		"/v/site-packages/scipy.libs/libscipy_openblas-c128ec02.so":                      "libscipy_openblas",
		"/v/site-packages/lmdb.cpython-311-x86_64-linux-gnu.so":                          "lmdb",
		"/usr/lib/python3/dist-packages/h5py/_errors.cpython-311-x86_64-linux-gnu.so":    "h5py",
		"/usr/lib/x86_64-linux-gnu/libhdf5_serial.so.103.3.0":                            "libhdf5_serial",
		"/usr/lib/python3.11/lib-dynload/zlib.cpython-311-x86_64-linux-gnu.so":           "zlib",
		"/usr/bin/python3.11":                            metric.CodePython,
		"/usr/lib/libpython3.13.so.1.0":                  metric.CodePython,
		"/v/site-packages/torch/lib/libc10.so (deleted)": "libc10",
		"/home/alice/model/kernels.so":                   "",
		"/usr/lib/x86_64-linux-gnu/libc.so.6":            "libc",
		"/v/site-packages/other/x.so":                    "",
		"/home/a b/train (1).so":                         "",
		"[vdso]":                                         "",
		"":                                               "",
		"/x/" + strings.Repeat("a", 40) + ".so":          "",
	} {
		if got := libraryOf(file); got != want {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
	var ranges []procfs.Mapping
	for i := range 1000 {
		ranges = append(ranges, procfs.Mapping{Path: fmt.Sprintf("/usr/lib/lib%d.so", i/2)})
	}
	m := newLibraryMap(ranges)
	if m.classes[0] != codeLibrary || m.classes[1] != codeLibrary || m.classes[999] != codeOther ||
		len(m.names) != maxCodeClass-int(codeLibrary)+1 {
		t.Errorf("%d libraries; the first has number %d, one too many %d", len(m.names), m.classes[0], m.classes[999])
	}
}
