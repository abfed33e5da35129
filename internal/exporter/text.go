package exporter

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// ContentType is that of Prometheus' text format (prometheus.io/docs/instrumenting/exposition_formats). client_golang
// writes it too, and brings protobuf along: a megabyte and a half of a program that every child of a watch maps.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

type kind string

const (
	gauge   kind = "gauge"
	counter kind = "counter"
)

// label is one label of a value. A value of "" is no label.
type label struct{ name, value string }

type family struct {
	kind   kind
	help   string
	values map[string]value // by their labels as they are written
}

type value struct {
	labels []label
	is     float64
}

// collection is one answer to a scrape.
type collection struct {
	job      string
	families map[string]*family
	taken    map[string]bool // names of the signals of frames, which those of reports do not share
}

// send takes a value. Of several with the same labels the last one counts.
func (c *collection) send(k kind, name, help string, is float64, labels ...label) {
	f := c.families[name]
	if f == nil {
		f = &family{kind: k, help: help, values: map[string]value{}}
		c.families[name] = f
	}
	labels = slices.DeleteFunc(append(labels, label{"job_name", c.job}), func(l label) bool { return l.value == "" })
	slices.SortFunc(labels, func(a, b label) int { return cmp.Compare(a.name, b.name) })
	f.values[written(labels)] = value{labels, is}
}

// inLabel and inHelp escape what would end a value or a line.
var (
	inLabel = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
	inHelp  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
)

func written(labels []label) string {
	var all []string
	for _, l := range labels {
		all = append(all, l.name+`="`+inLabel.Replace(strings.ToValidUTF8(l.value, "\uFFFD"))+`"`)
	}
	if len(all) == 0 {
		return ""
	}
	return "{" + strings.Join(all, ",") + "}"
}

func (c *collection) write(w io.Writer) error {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(c.families)) {
		f, full := c.families[name], "pipetune_"+name
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", full, inHelp.Replace(f.help), full, f.kind)
		for _, labels := range slices.Sorted(maps.Keys(f.values)) {
			b.WriteString(full + labels + " " + strconv.FormatFloat(f.values[labels].is, 'g', -1, 64) + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
