package render

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/must"
)

// chromium is a headless browser, spoken to by its DevTools protocol over a pair of pipes
// (https://chromedevtools.github.io/devtools-protocol/, --remote-debugging-pipe).
type chromium struct {
	t       *testing.T
	to      *os.File
	session string
	axe     string // axe-core's source
	next    int

	mu      sync.Mutex
	answers map[int]chan answer
	events  []event
}

// answer is what a command came to.
type answer struct {
	ID     int             `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *struct{ Message string }
	event
}

// event is something that happened in the page.
type event struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// patience is how long one command may take.
const patience = time.Minute

// startChromium starts the browser with one empty page; it ends with the test.
func startChromium(t *testing.T) *chromium {
	t.Helper()
	theirIn, to, err := os.Pipe()
	must.Do(t, err)
	from, theirOut, err := os.Pipe()
	must.Do(t, err)
	var said bytes.Buffer
	cmd := exec.Command("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--disable-extensions", "--no-first-run", "--hide-scrollbars", "--remote-debugging-pipe", "--user-data-dir="+
			t.TempDir(), "about:blank")
	cmd.ExtraFiles, cmd.Stderr = []*os.File{theirIn, theirOut}, &said
	if err := cmd.Start(); err != nil {
		t.Fatalf("chromium, of Debian's package chromium (scripts/deps page): %v", err)
	}
	theirIn.Close()
	theirOut.Close()
	c := &chromium{t: t, to: to, answers: map[int]chan answer{}}
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		c.hear(from)
	}()
	t.Cleanup(func() {
		c.call("Browser.close", nil, nil)
		to.Close()
		if err := cmd.Wait(); err != nil && t.Failed() {
			t.Logf("chromium: %v: %.2000s", err, said.Bytes())
		}
		<-heard
		from.Close()
	})
	var target struct{ TargetID string }
	c.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var session struct{ SessionID string }
	c.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &session)
	c.session = session.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		c.call(domain+".enable", nil, nil)
	}
	return c
}

// hear takes what the browser says, one message up to each zero byte.
func (c *chromium) hear(from *os.File) {
	r := bufio.NewReader(from)
	for {
		message, err := r.ReadBytes(0)
		if err != nil {
			return
		}
		var a answer
		if json.Unmarshal(bytes.TrimRight(message, "\x00"), &a) != nil {
			continue
		}
		c.mu.Lock()
		if a.ID == 0 {
			c.events = append(c.events, a.event)
		} else {
			c.answers[a.ID] <- a
		}
		c.mu.Unlock()
	}
}

// call runs a command and reads what it came to.
func (c *chromium) call(method string, params map[string]any, result any) {
	c.t.Helper()
	c.mu.Lock()
	c.next++
	id, done := c.next, make(chan answer, 1)
	c.answers[id] = done
	c.mu.Unlock()
	message := map[string]any{"id": id, "method": method, "params": params}
	if params == nil {
		message["params"] = map[string]any{}
	}
	if c.session != "" && method != "Browser.close" {
		message["sessionId"] = c.session
	}
	b, err := json.Marshal(message)
	if err == nil {
		_, err = c.to.Write(append(b, 0))
	}
	if err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
	select {
	case a := <-done:
		if a.Error != nil {
			c.t.Fatalf("%s: %s", method, a.Error.Message)
		}
		if result != nil {
			if err := json.Unmarshal(a.Result, result); err != nil {
				c.t.Fatalf("%s: %v", method, err)
			}
		}
	case <-time.After(patience):
		c.t.Fatalf("%s: no answer within %s", method, patience)
	}
}

// eval runs an expression in the page and reads its value.
func (c *chromium) eval(expression string, value any) {
	c.t.Helper()
	var out struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	c.call("Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true},
		&out)
	if e := out.ExceptionDetails; e != nil {
		c.t.Fatalf("%.60s: %s %s", expression, e.Text, e.Exception.Description)
	}
	if value != nil {
		if err := json.Unmarshal(out.Result.Value, value); err != nil {
			c.t.Fatalf("%.60s: %v", expression, err)
		}
	}
}

// view is how a page is looked at.
type view struct {
	width int
	dark  bool
}

func (v view) String() string {
	return fmt.Sprintf("%d-%s", v.width, map[bool]string{true: "dark", false: "light"}[v.dark])
}

// open shows a page and forgets what happened before.
func (c *chromium) open(url string, v view) {
	c.t.Helper()
	c.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": v.width, "height": 900, "deviceScaleFactor": 1,
		"mobile": v.width < 500}, nil)
	scheme := map[bool]string{true: "dark", false: "light"}[v.dark]
	c.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme",
		"value": scheme}}}, nil)
	c.happened()
	c.call("Page.navigate", map[string]any{"url": url}, nil)
	var state string
	for range 600 {
		if c.eval("document.readyState+location.href", &state); state == "complete"+url {
			return
		}
	}
	c.t.Fatalf("%s is not shown: %s", url, state)
}

// happened are the events since it was last asked.
func (c *chromium) happened() []event {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.events
	c.events = nil
	return all
}

// shot writes a picture of the whole page.
func (c *chromium) shot(path string) {
	c.t.Helper()
	var out struct{ Data []byte } // JSON's base64
	c.call("Page.captureScreenshot", map[string]any{"captureBeyondViewport": true}, &out)
	must.Do(c.t, os.WriteFile(path, out.Data, 0o644))
}
