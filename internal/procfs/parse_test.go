package procfs

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/must"
)

// parsers are all parsers of files, each with a text it accepts.
var parsers = map[string]struct {
	parse func([]byte) (any, error)
	good  string
	// cuts says that any proper prefix of good must be refused.
	cuts bool
}{
	"stat": {filled(ParseStat),
		"4700 (py) th(on) R 1 4700 4700 0 -1 4194304 100 0 7 0 4200 310 0 0 20 0 4 0 88123 803500032 58481 " +
			"18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 3 0 0 5 0 0 0\n", true},
	"schedstat": {filled(ParseSchedstat), "1022091643 59742173 4006\n",
		true},
	"io": {filled(ParseIO), "rchar: 17014805\nwchar: 51512\nsyscr: 10\nsyscw: " +
		"20\nread_bytes: 4096\nwrite_bytes: 0\ncancelled_write_bytes: 0\n", true},
	"statm": {filled(ParseStatm), "196167 58518 29586 691 0 39814 0\n", true},
	"syscall": {filled(ParseSyscall),
		"7 0x7ffe1252e090 0x1 0x1388 0x0 0x0 0x0 0x7ffe1252e050 0x7f90d2c24545\n", true},
	"children": {func(b []byte) (any, error) { return ParseChildren(b, nil) }, "19870 19872 ", false},
	"fdinfo": {returned(ParseFDFlags),
		"pos:\t1024\nflags:\t0100000\nmnt_id:\t27\nino:\t5\n", false},
	"status": {returned(ParseStatus),
		"Name:\tpython3\nUid:\t0\t0\t0\t0\nNSpid:\t1 " +
			"2\nSigCgt:\t0000000180014002\nCpus_allowed_list:\t0-3\nThreads:\t4\n", false},
	"/proc/stat": {filled(ParseSystemStat),
		"cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\nintr 1 2\nbtime 1700000000\nprocs_running 2\n", false},
	"meminfo": {filled(ParseMeminfo),
		"MemTotal:       24684092 kB\nMemFree:        21939428 kB\nHugePages_Total:       0\n", false},
	"vmstat": {filled(ParseVmstat),
		"pswpin 1\npswpout 2\nworkingset_refault_file 3\n", false},
	"diskstats": {func(b []byte) (any, error) {
		var all []DiskStat
		err := parseDiskstats(b, new(DiskStat), func(d *DiskStat) { all = append(all, *d) })
		return all, err
	},
		" 254       0 vda 62633 10016 3930818 22490 46966 33889 4070584 10468 0 13808 33594 6966 30 705312 405 6264 " +
			"230\n", false},
	"pressure": {filled(ParsePressure),
		"some avg10=0.03 avg60=0.41 avg300=2.62 total=24993485\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1\n",
		false},
	"cpu.stat": {filled(ParseCgroupCPUStat),
		"nr_periods 72\nnr_throttled 70\nthrottled_time 2900000000\n", false},
	"memory.stat": {filled(ParseCgroupMemoryStat), "anon 1\nfile 2\n",
		false},
	"cpu.max": {returned(ParseCPUMax), "250000 100000\n", true},
	"limit":   {returned(ParseLimit), "17179869184\n", true},
	"io.max": {filled(func(b []byte, l *ReadLimits) error {
		return parseIOLimits(b, "rbps", func(Device) bool { return true }, l)
	}),
		"259:0 rbps=104857600 wbps=max riops=9000 wiops=max\n", false},
	"cgroup": {returned(ParseCgroupEntries),
		"4:cpu,cpuacct:/docker/abc\n0::/\n", false},
	"mountinfo": {returned(ParseMounts),
		"27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard\n", false},
	"uptime": {returned(ParseUptime), "2589.27 3675.77\n", true},
}

func filled[T any](parse func([]byte, *T) error) func([]byte) (any, error) {
	return func(b []byte) (any, error) {
		var v T
		err := parse(b, &v)
		return v, err
	}
}

func returned[T any](parse func([]byte) (T, error)) func([]byte) (any, error) {
	return func(b []byte) (any, error) { return parse(b) }
}

func TestParsersTakeWhatTheKernelWrites(t *testing.T) {
	for name, p := range parsers {
		if _, err := p.parse([]byte(p.good)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestParsersRefuseDamage cuts every good text at every byte and spoils it. Whatever a parser says, it must not panic;
// where a prefix cannot be distinguished from a whole file (a list that ended earlier) it may be taken.
func TestParsersRefuseDamage(t *testing.T) {
	for name, p := range parsers {
		for i := range len(p.good) {
			_, err := p.parse([]byte(p.good[:i]))
			cut := p.cuts || i == len(p.good)-1 && strings.HasSuffix(p.good, "\n")
			if cut && err == nil {
				t.Errorf("%s took %q, which is cut", name, p.good[:i])
			}
			if err != nil && !errors.Is(err, ErrMalformed) {
				t.Errorf("%s: %v is not ErrMalformed", name, err)
			}
		}
	}
}

func TestParsersRefuseImpossibleNumbers(t *testing.T) {
	for _, bad := range []string{"-5", "18446744073709551616", "99999999999999999999999", "1e3", "0x1", "\x00", "NaN",
		"１", "5\r"} {
		for _, c := range []struct{ parser, from, to string }{
			{"stat", "4200", bad}, {"stat", "88123", bad}, {"schedstat", "59742173", bad}, {"io", "17014805", bad},
			{"io", " 4096", " " + bad}, {"statm", "58518", bad}, {"/proc/stat", "cpu  1", "cpu  " + bad},
			{"meminfo", "24684092", bad}, {"vmstat", "pswpin 1", "pswpin " + bad}, {"diskstats", "62633", bad},
			{"pressure", "24993485", bad}, {"cpu.stat", "70", bad}, {"memory.stat", "file 2", "file " + bad},
			{"cpu.max", "250000", bad}, {"limit", "17179869184", bad}, {"io.max", "9000", bad},
			{"children", "19870", bad}, {"status", "Uid:\t0", "Uid:\t" + bad},
			{"mountinfo", "254:0", bad + ":0"}, {"cgroup", "4:cpu", bad + ":cpu"},
		} {
			p := parsers[c.parser]
			text := strings.Replace(p.good, c.from, c.to, 1)
			if text == p.good {
				t.Fatalf("%s does not hold %q", c.parser, c.from)
			}
			if _, err := p.parse([]byte(text)); !errors.Is(err, ErrMalformed) {
				t.Errorf("%s took %q: %v", c.parser, text, err)
			}
		}
	}
}

// TestParsersIgnoreWhatIsNew lets later kernels add columns and lines.
func TestParsersIgnoreWhatIsNew(t *testing.T) {
	for _, c := range []struct{ parser, text string }{
		{"stat", "1 (x) R 1 1 1 0 -1 4194304 100 0 7 0 4200 310 0 0 20 0 4 0 88123 1 2 3 1 1 0 0 0 0 0 0 0 0 0 0 17 " +
			"3 0 0 5 0 0 0 new columns here\n"},
		{"schedstat", "1 2 3 4 5\n"}, {"statm", "1 2 3 4 5 6 7 8\n"},
		{"/proc/stat", "cpu  1 2 3 4 5 6 7 8 9 10 11 12\nnews -1\n"},
		{"diskstats", "1 2 x 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19\n"}, {"vmstat", "new -\n"},
		{"pressure", "some avg10=0.0 avg900=1 total=5 more=1\nnone total=x\n"},
		{"meminfo", "MemTotal: 1 kB\nNew: x\n"}, {"io.max", "1:2 rbps=1 new=5\n"},
	} {
		if _, err := parsers[c.parser].parse([]byte(c.text)); err != nil {
			t.Errorf("%s: %v", c.parser, err)
		}
	}
}

func TestStatNames(t *testing.T) {
	for _, name := range []string{"python3", "", "a) S 1 1 (b", "x\ny", "\x1b[31m", "\xff\xfe", "(((", ")))", " ",
		"1 (2) R"} {
		b := []byte("7 (" + name + ") D 3 1 1 0 -1 4194304 100 0 7 0 100 50 300 200 20 0 4 0 999 1 2 3\n")
		var s Stat
		if err := ParseStat(b, &s); err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		if s.State != 'D' || s.PPID != 3 || s.StartTicks != 999 || s.UserSeconds != 1 || s.SystemSeconds != 0.5 ||
			s.EndedSeconds != 5 {
			t.Errorf("%q: %+v", name, s)
		}
	}
}

func TestSyscallForms(t *testing.T) {
	for text, want := range map[string]Syscall{
		"running\n":          {Running: true, Number: -1},
		"-1 0x7ffe 0x7f90\n": {Number: -1, SP: 0x7ffe, PC: 0x7f90},
		"7 0x10 0x1 0x1388 0x0 0x0 0x0 0x2 0x3\n": {Number: 7, Args: [6]uint64{0x10, 1, 0x1388},
			SP: 2, PC: 3},
		"202 0xffffffffffffffff 0x189 0x0 0x0 0x0 0xffffffff 0x1 0x2\n": {Number: 202, Args: [6]uint64{math.MaxUint64,
			0x189, 0, 0, 0, 0xffffffff}, SP: 1, PC: 2},
	} {
		var s Syscall
		if err := ParseSyscall([]byte(text), &s); err != nil || s != want {
			t.Errorf("%q: %+v, %v; want %+v", text, s, err, want)
		}
	}
	for _, bad := range []string{"-2 0x1 0x2\n", "7 0x1\n", "Running\n", "7 zz 0x1 0x1 0x1 0x1 0x1 0x1 0x1\n",
		"7 0x11111111111111111 0x1 0x1 0x1 0x1 0x1 0x1 0x1\n"} {
		if err := ParseSyscall([]byte(bad), new(Syscall)); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func TestCPUList(t *testing.T) {
	for text, want := range map[string]CPUSet{"": nil, "0\n": {0}, "0-3,8,10-11\n": {0, 1, 2, 3, 8, 10, 11},
		"5,1-2,2": {1, 2, 5}} {
		got, err := ParseCPUList([]byte(text))
		if err != nil || !cmp.Equal(got, want) {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, bad := range []string{"3-1", "a", "1-", "-1", "0-99999999", "1,,2", "0-3:1/2"} {
		if set, err := ParseCPUList([]byte(bad)); err == nil {
			t.Errorf("%q became %v", bad, set)
		}
	}
}

func TestEnvironKeepsOnlyWhatIsAllowed(t *testing.T) {
	got := ParseEnviron(
		[]byte("RANK=3\x00AWS_SECRET_ACCESS_KEY=x\x00SLURM_JWT=token\x00PATH=/bin\x00RANK=9\x00" +
			"OMP_NUM_THREADS=\x00WANDB_API_KEY=k\x00novalue\x00HDF5_USE_FILE_LOCKING=FALSE\x00" +
			"WORLD_SIZE=" + strings.Repeat("9", 5000)))
	want := map[string]string{"RANK": "3", "OMP_NUM_THREADS": "", "HDF5_USE_FILE_LOCKING": "FALSE"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestMappedFiles(t *testing.T) {
	maps := "00400000-00401000 r--p 00000000 fe:00 1    /usr/bin/python3.11\n7f00-7f01 r-xp 0 fe:00 2  /a " +
		"b/libtorch_cpu.so\n7f01-7f02 rw-p 0 fe:00 2  /a b/libtorch_cpu.so\n7f-7f rw-p 0 0:0 0 [heap]\n7f-7f rw-p 0 " +
		"0:0 0 \n7f r /lib/new\\012line.so (deleted)\n"
	all := must.Get(ParseMappedFiles(strings.NewReader(maps), func(string) bool { return true }, 10))(t)
	if diff := cmp.Diff([]string{"/usr/bin/python3.11", "/a b/libtorch_cpu.so", "/lib/new\nline.so (deleted)"},
		all); diff != "" {
		t.Error(diff)
	}
	torch, err := ParseMappedFiles(strings.NewReader(maps), func(p string) bool { return strings.Contains(p, "torch") },
		10)
	if err != nil || len(torch) != 1 {
		t.Errorf("%q, %v", torch, err)
	}
}

func TestCmdline(t *testing.T) {
	for text, want := range map[string][]string{"": nil, "python\x00train.py\x00": {"python", "train.py"},
		"setproctitle": {"setproctitle"}, "a\x00\x00b\x00": {"a", "", "b"}} {
		var got []string
		for _, arg := range ParseCmdline([]byte(text)) {
			got = append(got, string(arg))
		}
		if !cmp.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
