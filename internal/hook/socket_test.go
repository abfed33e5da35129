package hook

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/must"
)

// senderEnv makes this test binary send one datagram to the socket it names, or with _FLOOD set the same as fast as it
// can until that is gone, and end.
const senderEnv = "PIPETUNE_TEST_SEND"

func TestMain(m *testing.M) {
	if to := os.Getenv(senderEnv); to != "" {
		conn, err := net.Dial("unixgram", to)
		if err == nil {
			_, err = conn.Write([]byte(os.Getenv(senderEnv + "_DATA")))
		}
		for err == nil && os.Getenv(senderEnv+"_FLOOD") != "" {
			_, err = conn.Write([]byte(os.Getenv(senderEnv + "_DATA")))
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func dial(t testing.TB, r *Receiver) *net.UnixConn {
	t.Helper()
	conn := must.Get(net.Dial("unixgram", filepath.Join(r.folder.path, socketName)))(t)
	t.Cleanup(func() { conn.Close() })
	return conn.(*net.UnixConn)
}

func helloOf(r *Receiver, pid, seq int) string {
	return fmt.Sprintf(`{"v":1,"token":%q,"kind":"hello","pid":%d,"seq":%d,"at":1,"lost":0}`, r.token, pid, seq)
}

// until waits for what the receiver's own goroutine does.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after 10 s: no %s", what)
		}
	}
}

// refusals counts the messages that were not booked, for whatever reason.
func refusals(r *Receiver) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ledger.refused + r.ledger.malformed + r.ledger.dropped
}

func TestMessagesArriveWithTheirSender(t *testing.T) {
	asked := make(chan int, 8)
	r := open(t, Config{Identify: func(pid int) (string, bool) { asked <- pid; return "process/7.70", true }})
	must.Get(dial(t, r).Write([]byte(helloOf(r, os.Getpid(), 1))))(t)
	until(t, "hello", func() bool { return r.State().Loaded == 1 })
	if pid := <-asked; pid != os.Getpid() {
		t.Errorf("asked for %d, the sender is %d", pid, os.Getpid())
	}
}

func TestAStrangerOfTheSameUserIsRefused(t *testing.T) {
	r := open(t, Config{Identify: func(int) (string, bool) { return "", false }})
	conn := dial(t, r)
	for range 5 {
		must.Get(conn.Write([]byte(helloOf(r, os.Getpid(), 1))))(t)
	}
	until(t, "refusal", func() bool { return r.State().Refused == 5 })
	if s := r.State(); s.Loaded != 0 {
		t.Errorf("state %+v", s)
	}
}

// Another user cannot reach the socket; where the modes are loosened the kernel's word for the sender is in the way.
func TestAnotherUserIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		return // only root can be somebody else; for all others TestOnlyTheJobIsHeard makes one up
	}
	parent := short(t)
	must.Do(t, os.Chmod(parent, 0o755))
	r := openIn(t, parent)
	socket := filepath.Join(r.folder.path, socketName)
	binary := filepath.Join(short(t), "sender")
	data := must.Get(os.ReadFile("/proc/self/exe"))(t)
	must.Do(t, os.WriteFile(binary, data, 0o755))
	must.Do(t, os.Chmod(filepath.Dir(binary), 0o755))
	send := func() ([]byte, error) {
		cmd := exec.Command(binary)
		cmd.Dir = "/"
		cmd.Env = []string{senderEnv + "=" + socket, senderEnv + "_DATA=" + helloOf(r, 1, 1)}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		return cmd.CombinedOutput()
	}
	if out, err := send(); err == nil || !strings.Contains(string(out), "permission denied") {
		t.Errorf("with the folder private: %v, %s", err, out)
	}
	for name, mode := range map[string]os.FileMode{r.folder.path: 0o755, socket: 0o666} {
		must.Do(t, os.Chmod(name, mode))
	}
	if out, err := send(); err != nil {
		t.Fatalf("with the folder open: %v, %s", err, out)
	}
	until(t, "refusal", func() bool { return r.State().Refused == 1 })
	if s := r.State(); s.Loaded != 0 || refusals(r) != 1 {
		t.Errorf("state %+v", s)
	}
}

func TestTooLongAndStrangeDatagrams(t *testing.T) {
	r := open(t, Config{})
	conn := dial(t, r)
	head := helloOf(r, os.Getpid(), 1)
	exact := head[:len(head)-1] + `,"cwd":"` + strings.Repeat("x", MaxMessage-len(head)-len(`,"cwd":""`)) + `"}`
	for _, data := range []string{exact, exact + " ", "", "{", "[]", "null", `"x"`, strings.Repeat("[", 16000),
		strings.Repeat("x", 100000)} {
		must.Get(conn.Write([]byte(data)))(t)
	}
	if len(exact) != MaxMessage {
		t.Fatalf("%d bytes", len(exact))
	}
	until(t, "answer to each", func() bool { return r.State().Loaded == 1 && refusals(r) == 8 })
}

func TestDescriptorsThatComeAlongAreNotTaken(t *testing.T) {
	r := open(t, Config{})
	fd := must.Get(unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0))(t)
	defer unix.Close(fd)
	to := &unix.SockaddrUnix{Name: filepath.Join(r.folder.path, socketName)}
	count := func() int { return len(entries(t, "/proc/self/fd")) }
	before := count()
	for seq := range 50 {
		must.Do(t, unix.Sendmsg(fd, []byte(helloOf(r, os.Getpid(), seq+1)), unix.UnixRights(0, 1, 2), to, 0))
	}
	until(t, "hello", func() bool { return r.State().Loaded == 1 })
	if after := count(); after > before+2 {
		t.Errorf("%d descriptors, %d before", after, before)
	}
}

func TestCredentialsThatAreNone(t *testing.T) {
	for name, oob := range map[string][]byte{
		"none": nil, "short": make([]byte, 4), "zeros": make([]byte, 64), "rights": unix.UnixRights(1),
		"cut": unix.UnixCredentials(&unix.Ucred{Pid: 1})[:20],
	} {
		if from := credentials(oob); from.uid != ^uint32(0) || from.pid != 0 {
			t.Errorf("%s: %+v", name, from)
		}
	}
	if from := credentials(unix.UnixCredentials(&unix.Ucred{Pid: 5, Uid: 6})); from != (sender{5, 6}) {
		t.Errorf("credentials read as %+v", from)
	}
}
