//go:build reliability

package reliability

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/procfs/fakeroot"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/sampler"
)

var shapeTrials = []trial{
	{
		id: "L4", fault: "a job with very many threads, mounts and arguments",
		made: "32 workers with 256 threads each (the machine has room for 32,768 processes and threads in all), " +
			"4,096 mounts in its namespace, a command line of 120 kB",
		target: "a tick takes at most 10 ms of CPU time, a tenth of a core", run: wideJob,
	},
	{
		id: "L4-machine", fault: "a machine with 1,024 CPUs, 4,096 mounts, and a cgroup path of 10,000 characters",
		made:   "a made-up /proc and /sys; the samplers of the machine run on it, 20 ticks",
		target: "a tick takes at most 5 ms of CPU time, all samplers due at once, and 50 ms at worst", run: wideMachine,
	},
}

func wideJob(s *stand) {
	const workers, threads, count, kilobytes = 32, 256, 4096, 120
	j := churn{flags: []string{"--steady", strconv.Itoa(workers), "--threads", strconv.Itoa(threads)}}
	for range kilobytes {
		j.more = append(j.more, strings.Repeat("x", 1023))
	}
	c := s.start("job", append([]string{s.python, s.testdata("reliability/mounts.py"), s.folder("mounts"),
		strconv.Itoa(count)}, j.argv(s)...))
	c.awaitLines(1)
	table, err := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", c.pid()))
	if err != nil || bytes.Count(table, []byte("\n")) < count {
		s.Fatalf("the job has %d mounts: %v", bytes.Count(table, []byte("\n")), err)
	}
	rec, k := s.weigh(c, 15*time.Second)
	tick := k.share * rec.Header.Interval.Seconds() * 1000
	s.measured("%d threads, %d mounts: %.1f ms of CPU time a tick of %s, samples and all else included (%.1f %% of a "+
		"core); samples each %s; %.1f MiB",
		workers*threads, count, tick, rec.Header.Interval, 100*k.share,
		rec.Header.SampleInterval.Round(time.Millisecond),
		mib(k.rss))
	s.atMost(tick, 10, "%.1f ms a tick") // 2.7 was measured: room for a CPU a third as fast
	s.stopChurn(c)
}

func wideMachine(s *stand) {
	const cpus, mounts, path = 1024, 4096, 10_000
	archive := must.Get(os.ReadFile("../../testdata/proc/cgroup-v2.txtar"))(s)
	root := s.in("machine")
	must.Do(s, fakeroot.Unpack(archive, root))
	put := func(name string, change func(old []byte) string) {
		file := filepath.Join(root, name)
		old := must.Get(os.ReadFile(file))(s)
		must.Do(s, os.WriteFile(file, []byte(change(old)), 0o644))
	}
	put("proc/stat", func(old []byte) string {
		var b strings.Builder
		for line := range strings.Lines(string(old)) {
			if !strings.HasPrefix(line, "cpu") || strings.HasPrefix(line, "cpu ") {
				b.WriteString(line)
			}
			if strings.HasPrefix(line, "cpu ") {
				for i := range cpus {
					fmt.Fprintf(&b, "cpu%d 18446744 0 9000000 99999999 70000 0 4000 35 0 0\n", i)
				}
			}
		}
		return b.String()
	})
	put("proc/4700/mountinfo", func(old []byte) string {
		var b strings.Builder
		for i := range mounts {
			fmt.Fprintf(&b, "%d 1 0:%d / /mnt/%s/%d rw,relatime shared:1 - tmpfs none rw,size=1024k\n", 100_000+i, 100+
				i, strings.Repeat("m", 100), i)
		}
		return b.String() + string(old)
	})
	put("proc/4700/cgroup", func([]byte) string {
		return "0::" + strings.Repeat("/"+strings.Repeat("g", 99), path/100) + "\n"
	})

	fs := procfs.FS{Root: root}
	p := must.Get(fs.Open(4700))(s)
	target := p.ID
	p.Close()
	data := sync.OnceValues(func() (int, []procfs.Storage) {
		mounts := must.Get(fs.MountsSeenBy(target))(s)
		return 1, []procfs.Storage{must.Get(fs.StorageOf(mounts, "/home/me/data"))(s)}
	})
	r := must.Get(recording.NewRecorder(recording.Header{}, nil))(s)
	samplers := []sampler.Sampler{sampler.NewCPU(fs, func() []procfs.ID { return []procfs.ID{target} }),
		sampler.NewMemory(fs, target, nil),
		sampler.NewDisk(fs, data), sampler.NewPressure(fs, target), sampler.NewCgroup(fs, target, data)}
	var live []sampler.Sampler
	for _, m := range samplers {
		if err := m.Start(s.Context(), r); err != nil {
			s.Logf("%s does not run here: %v", m.Name(), err)
			continue
		}
		defer m.Close()
		live = append(live, m)
	}
	const rounds = 20
	worst := time.Duration(0)
	before := must.CPUTime(s)
	for i := range rounds {
		r.Tick(time.Duration(i) * time.Second)
		began := must.CPUTime(s)
		for _, m := range live {
			m.Sample(s.Context(), r)
		}
		worst = max(worst, must.CPUTime(s)-began)
	}
	mean := (must.CPUTime(s) - before) / rounds
	rec := must.Get(r.Finish(recording.End{At: rounds * time.Second}))(s)
	cores := 0
	for _, series := range rec.Series {
		if strings.HasPrefix(series.Entity, "cpu/") && series.Metric == "cpu_busy_s" {
			cores++
		}
	}
	if cores != cpus {
		s.Errorf("%d CPUs of %d have readings", cores, cpus)
	}
	s.measured("%d CPUs, %d mounts, %d samplers: %.2f ms of CPU time a tick, %.2f at worst", cores, mounts, len(live),
		mean.Seconds()*1000, worst.Seconds()*1000)
	// 1.1 and 14.4 were measured; the worst is the first, which makes the series.
	if mean > 5*time.Millisecond || worst > 50*time.Millisecond {
		s.missed("%.1f ms a tick, %.1f at worst", mean.Seconds()*1000, worst.Seconds()*1000)
	}
}
