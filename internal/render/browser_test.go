package render

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/rules"
)

// axe is axe-core, rules of accessibility (testdata/README.md).
//
//go:embed testdata/axe-core-4.14.1.min.js.gz
var axe []byte

// watched is a recording as a subject.
func watched(t *testing.T, name string) Subject {
	t.Helper()
	rec := must.Read(t, filepath.Join("../../testdata/recordings", name), recording.Read)
	return Watch(diagnose.Run(must.Get(evidence.FromRecording(rec))(t), rules.All()), evidence.Timeline(rec))
}

// findOverflow lists what reaches beyond the window; what lies in a box that scrolls by itself may.
const findOverflow = `[...document.querySelectorAll("body *")].filter(e =>
	!e.closest(".wide, pre.diff, svg svg, .hit") && e.getClientRects().length &&
	(e.getBoundingClientRect().right > innerWidth + 0.5 || e.getBoundingClientRect().left < -0.5))
	.map(e => e.tagName + "." + (e.getAttribute("class") || "") + " " + e.textContent.slice(0, 40))
	.concat(document.documentElement.scrollWidth > innerWidth ? ["the page scrolls sideways"] : [])`

// breaches lists which of axe-core's rules a page breaks, and where.
const breaches = `axe.run(document, {resultTypes: ["violations"]}).then(r => r.violations.map(v => v.id + ": " + v.help + ": " +
	v.nodes.map(n => n.target + " " + (n.any[0] || n.all[0] || n.none[0] || {}).message).join("; ")))`

// visit opens a page, unfolds everything, and lists what is wrong with it.
func visit(c *chromium, page []byte, v view, folded, unfolded func()) (wrong []string) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path)
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if _, err := w.Write(page); err != nil {
			c.t.Error(err)
		}
	}))
	defer server.Close()
	c.open(server.URL+"/", v)
	folded()
	c.eval(`document.querySelectorAll("details").forEach(d => d.open = true)`, nil)
	var overflow, broken []string
	c.eval(findOverflow, &overflow)
	c.eval(c.axe+"; 0", nil)
	c.eval(breaches, &broken)
	unfolded()
	wrong = slices.Concat(overflow, broken)
	for _, e := range c.happened() {
		switch e.Method {
		case "Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled":
			wrong = append(wrong, e.Method+": "+string(e.Params))
		}
	}
	if all := strings.Join(asked, " "); all != "/" {
		wrong = append(wrong, "asked for "+all)
	}
	return wrong
}

// Where a page is looked at. A page's style changes its colours in the dark and nothing else, so that what fits into a
// width does in either; the pictures that PAGE_SHOTS asks for are of all.
var (
	fewViews = []view{{380, false}, {900, false}, {1600, true}}
	allViews = []view{{380, false}, {900, false}, {1600, false}, {380, true}, {900, true}, {1600, true}}
)

// TestPageInABrowser opens pages in three widths, the widest of them dark, everything unfolded: no error, no request
// but the one for the page, nothing beyond the window, and axe-core's rules pass.
func TestPageInABrowser(t *testing.T) {
	c := startChromium(t)
	c.axe = string(must.Get(io.ReadAll(must.Get(gzip.NewReader(bytes.NewReader(axe)))(t)))(t))
	bad := `<!doctype html><html lang="en"><title>x</title><main><h1>x</h1><p id="pale">pale</p><img src="/x.png"></main>
		<style>#pale { color: #ccc; width: 2000px }</style><script>console.log("said")</script>`
	found := strings.Join(visit(c, []byte(bad), view{900, false}, func() {}, func() {}), "\n")
	for _, want := range []string{"P. pale", "sideways", "color-contrast", "image-alt", "consoleAPICalled",
		"asked for / /x.png"} {
		if !strings.Contains(found, want) {
			t.Errorf("a page with %s passes: %s", want, found)
		}
	}
	views := fewViews
	if os.Getenv("PAGE_SHOTS") != "" {
		views = allViews
	}
	for name, s := range map[string]Subject{
		"attached": watched(t, "workers-restart-fork.jsonl"),
		"launched": watched(t, "launched-hdf5-per-item.jsonl"),
		"gpu":      watched(t, "device/hdf5-input-launched.jsonl"),
		"report":   Report(load(t, fixtures+"/launch-plans.json")),
		"bench":    Report(load(t, fixtures+"/bench-gzip-chunk64.json")),
		"compared": Comparison(compared(t, 0)),
	} {
		var page bytes.Buffer
		must.Do(t, writePage(&page, s, Options{}))
		for _, v := range views {
			wrong := visit(c, page.Bytes(), v, shoot(c, name, v, "folded"), shoot(c, name, v, "unfolded"))
			if len(wrong) > 0 {
				t.Errorf("%s at %s: %.3000s", name, v, strings.Join(wrong, "\n"))
			}
		}
	}
}

// shoot keeps a picture of a page where PAGE_SHOTS names a folder for them, to be looked at.
func shoot(c *chromium, name string, v view, how string) func() {
	return func() {
		if folder := os.Getenv("PAGE_SHOTS"); folder != "" {
			c.shot(filepath.Join(folder, fmt.Sprintf("%s-%s-%s.png", name, v, how)))
		}
	}
}
