//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/must"
)

// begin starts a program and ends it with the test.
func begin(t *testing.T, name string, args ...string) *bytes.Buffer {
	t.Helper()
	var said bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v (prometheus and promtool: apt-get install prometheus)", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	return &said
}

// get asks an address until it answers.
func get(t *testing.T, address string) (body []byte) {
	t.Helper()
	until(t, "an answer from "+address, func() bool {
		answer, err := http.Get(address)
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		body, err = io.ReadAll(answer.Body)
		return err == nil && answer.StatusCode == http.StatusOK
	})
	return body
}

// series asks Prometheus how many series a query gives.
func series(t *testing.T, prometheus, query string) int {
	t.Helper()
	var answer struct {
		Status string
		Data   struct{ Result []json.RawMessage }
	}
	body := get(t, "http://"+prometheus+"/api/v1/query?query="+url.QueryEscape(query))
	if err := json.Unmarshal(body, &answer); err != nil || answer.Status != "success" {
		t.Fatalf("%s: %v: %s", query, err, body)
	}
	return len(answer.Data.Result)
}

// TestMetrics has a real Prometheus scrape a watch of a real job, holds what is offered to promtool's rules, and asks
// each query of the dashboard.
func TestMetrics(t *testing.T) {
	m, j, p := startTop(t, 100, 30)
	ports, file := freePorts(t, 2), filepath.Join(p.folder, "pipetune.prom")
	at, prometheus := fmt.Sprintf("127.0.0.1:%d", ports[0]), fmt.Sprintf("127.0.0.1:%d", ports[1])
	p.enter(top(m, j) + " --metrics-listen " + at + " --metrics-textfile " + file + "; echo le''ft with $?")
	p.wait("data wait")

	refused := exec.Command(m.binary, "diagnose", "--isolated", "--pid", strconv.Itoa(j.pid), "--metrics-listen", at)
	began := time.Now()
	if out, err := refused.CombinedOutput(); err == nil || refused.ProcessState.ExitCode() != 2 ||
		!strings.Contains(string(out), "address already in use") ||
		time.Since(began) > 5*time.Second {
		t.Errorf("a port in use: %v: %s", err, out)
	}

	config := filepath.Join(p.folder, "prometheus.yml")
	text := fmt.Sprintf("scrape_configs:\n- job_name: pipetune\n  scrape_interval: 1s\n  static_configs:\n  - "+
		"targets: [%q]\n", at)
	must.Do(t, os.WriteFile(config, []byte(text), 0o600))
	said := begin(t, "prometheus", "--config.file="+config, "--storage.tsdb.path="+filepath.Join(p.folder,
		"data"), "--web.listen-address="+prometheus,
		"--log.level=error")
	p.wait("VERDICT")
	time.Sleep(12 * time.Second) // a stretch to take rates of, and the time in which the file is written

	written := must.Get(os.ReadFile(file))(t)
	for from, metrics := range map[string][]byte{"scrape": get(t, "http://"+at+"/metrics"), "file": written} {
		check := exec.Command("promtool", "check", "metrics")
		check.Stdin = bytes.NewReader(metrics)
		if out, err := check.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("promtool on the %s: %v\n%s", from, err, out)
		}
		if bytes.Contains(metrics, []byte(strconv.Itoa(j.pid))) {
			t.Errorf("the %s names a process", from)
		}
	}

	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	must.Do(t, json.Unmarshal(must.Get(os.ReadFile("../../docs/grafana/pipetune.json"))(t), &dashboard))
	asked := 0
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			query := strings.NewReplacer("$job_name", ".*", "$__rate_interval", "10s").Replace(target.Expr)
			if asked++; series(t, prometheus, query) == 0 {
				t.Errorf("%s: %s gives nothing", panel.Title, query)
			}
		}
	}
	if asked < 20 {
		t.Errorf("%d queries; Prometheus said: %s", asked, said)
	}

	p.press("q")
	p.wait("left with 0")
	left, err := os.ReadFile(file)
	if err != nil || !bytes.Contains(left, []byte("pipetune_watching")) ||
		bytes.Contains(left, []byte("pipetune_gpu_utilization_ratio")) {
		t.Errorf("after the end, the file holds (%v)\n%s", err, left)
	}
}
