//go:build e2e

package e2e

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/must"
)

// cluster is a Slurm with three nodes on this machine, in a folder of its own: munged, slurmctld and three slurmd, all
// on the loopback interface.
type cluster struct {
	dir     string
	daemons []*exec.Cmd
}

const nodesOfCluster = 3

// startCluster starts the daemons, and ends them when the test is over: nothing of them is left.
func startCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{dir: must.Get(os.MkdirTemp("/var/tmp", fmt.Sprintf("%s%d-", workPrefix, os.Getpid())))(t)}
	t.Cleanup(func() { c.stop(t) })
	key := make([]byte, 128)
	must.Get(rand.Read(key))(t)
	must.Do(t, os.WriteFile(c.in("munge.key"), key, 0o400))
	must.Do(t, os.Chmod(c.dir, 0o755)) // munged refuses a folder that others may not pass
	for _, folder := range []string{"state", "node1", "node2", "node3"} {
		must.Do(t, os.Mkdir(c.in(folder), 0o755))
	}
	must.Do(t, os.WriteFile(c.in("slurm.conf"), []byte(c.settings(t)), 0o644))
	c.daemon(t, "munged", "--foreground", "--force", "--key-file="+c.in("munge.key"), "--socket="+c.in("munge.socket"),
		"--pid-file="+c.in("munge.pid"), "--log-file="+c.in("munge.log"), "--seed-file="+c.in("munge.seed"))
	until(t, "munged", func() bool { _, err := os.Stat(c.in("munge.socket")); return err == nil })
	c.daemon(t, "slurmctld", "-D")
	for i := range nodesOfCluster {
		c.daemon(t, "slurmd", "-D", "-N", "node"+strconv.Itoa(i+1))
	}
	until(t, "three idle nodes", func() bool {
		said, err := c.command("sinfo", "--noheader", "--states=idle", "--format=%D").Output()
		return err == nil && strings.TrimSpace(string(said)) == strconv.Itoa(nodesOfCluster)
	})
	return c
}

func (c *cluster) in(name string) string { return filepath.Join(c.dir, name) }

// settings are those of a cluster whose jobs take whole CPUs.
func (c *cluster) settings(t *testing.T) string {
	host, _, _ := strings.Cut(must.Get(os.Hostname())(t), ".")
	me := must.Get(user.Current())(t).Username
	ports := freePorts(t, 1+nodesOfCluster)
	var b strings.Builder
	fmt.Fprintf(&b, `ClusterName=pipetune
SlurmctldHost=%s(127.0.0.1)
SlurmctldPort=%d
SlurmUser=%s
SlurmdUser=%s
AuthType=auth/munge
AuthInfo=socket=%s
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SlurmctldPidFile=%[6]s/slurmctld.pid
SlurmdPidFile=%[6]s/%%n.pid
SlurmctldLogFile=%[6]s/slurmctld.log
SlurmdLogFile=%[6]s/%%n.log
SlurmdSpoolDir=%[6]s/%%n
StateSaveLocation=%[6]s/state
`, host, ports[0], me, me, c.in("munge.socket"), c.dir)
	for i := range nodesOfCluster {
		fmt.Fprintf(&b, "NodeName=node%d NodeHostname=%s NodeAddr=127.0.0.1 Port=%d CPUs=2\n", i+1, host, ports[i+1])
	}
	b.WriteString("PartitionName=all Nodes=node[1-3] Default=YES State=UP MaxTime=60\n")
	return b.String()
}

// freePorts are ports of the loopback interface that nobody listens on now.
func freePorts(t *testing.T, n int) (ports []int) {
	t.Helper()
	for range n {
		l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

// daemon starts a program in the foreground, in a group of its own.
func (c *cluster) daemon(t *testing.T, name string, args ...string) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		path = "/usr/sbin/" + name
	}
	cmd := exec.Command(path, args...)
	cmd.Env = c.environment()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	must.Do(t, cmd.Start())
	c.daemons = append(c.daemons, cmd)
}

func (c *cluster) environment() []string {
	return append(os.Environ(), "SLURM_CONF="+c.in("slurm.conf"))
}

// command is a program that talks to this Slurm.
func (c *cluster) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Env = c.environment()
	return cmd
}

// stop ends jobs and daemons, and holds that no process of them is left.
func (c *cluster) stop(t *testing.T) {
	if len(c.daemons) > 1 {
		if said, err := c.command("scancel", "--user="+
			must.Get(user.Current())(t).Username).CombinedOutput(); err != nil {
			t.Errorf("scancel: %v: %s", err, said)
		}
		until(t, "the end of all jobs", func() bool {
			said, err := c.command("squeue", "--noheader").Output()
			return err == nil && len(strings.TrimSpace(string(said))) == 0
		})
	}
	for i := len(c.daemons) - 1; i >= 0; i-- {
		d := c.daemons[i]
		if err := d.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Error(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- d.Wait() }()
		select {
		case <-ended: // with whatever status
		case <-time.After(patience):
			t.Errorf("%s does not end", d.Path)
			if err := d.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
	}
	until(t, "the end of all that Slurm started", func() bool { return len(mentioning(t, c.dir)) == 0 })
	if t.Failed() {
		t.Logf("the logs of the daemons are in %s", c.dir)
		return
	}
	if err := os.RemoveAll(c.dir); err != nil {
		t.Error(err)
	}
}

// mentioning are the processes whose command line or environment names a folder.
func mentioning(t *testing.T, dir string) (found []string) {
	t.Helper()
	for _, file := range []string{"cmdline", "environ"} {
		paths, err := filepath.Glob("/proc/[0-9]*/" + file)
		must.Do(t, err)
		for _, path := range paths {
			if b, err := os.ReadFile(path); err == nil && strings.Contains(string(b), dir) {
				found = append(found, path)
			}
		}
	}
	return found
}

// until waits for something that is to happen soon.
func until(t *testing.T, what string, happened func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !happened(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("waited %s in vain for %s", patience, what)
			return
		}
	}
}
