package cli

import (
	"net"
	"time"

	"github.com/spf13/cobra"

	"github.com/pipetune/pipetune/internal/exporter"
	"github.com/pipetune/pipetune/internal/live"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/saved"
	"github.com/pipetune/pipetune/pkg/report"
)

// metricsOptions say where what a watch sees is offered to Prometheus.
type metricsOptions struct {
	listen   string
	public   bool
	textfile string
}

func (o *metricsOptions) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.listen, "metrics-listen", "", "offer metrics to Prometheus at this `ADDRESS` while watching: "+
		"127.0.0.1:9465")
	f.BoolVar(&o.public, "metrics-public", false, "let --metrics-listen take an address that other machines reach")
	f.StringVar(&o.textfile, "metrics-textfile", "", "write metrics to `FILE` while watching, for node_exporter: a "+
		"name that ends in .prom")
}

// textfileEvery is how often the file of metrics is written. A node_exporter is asked each 15 s, as a rule.
const textfileEvery = 10 * time.Second

// meter offers what a watch sees, where that was asked for.
type meter struct {
	*exporter.Exporter
	asked   bool
	env     Env
	server  *exporter.Server
	sender  *exporter.Sender
	file    output
	next    time.Duration // when the file is due
	writing chan error    // the end of a write that goes on; nil: none does
	failed  bool          // a write has, and it was said
}

// open begins to listen and tries the file, so that what is wrong with them is reported before anything is measured.
func (o *metricsOptions) open(env Env) (*meter, error) {
	if o.public && o.listen == "" {
		return nil, fail(exitUsage, "name the address: --metrics-listen 10.0.0.7:9465 --metrics-public",
			"--metrics-public says that others may read what --metrics-listen offers, and that is not given")
	}
	m := &meter{Exporter: exporter.New(version), env: env, file: output{path: o.textfile, flag: "--metrics-textfile"}}
	if o.textfile != "" {
		if err := m.file.check(); err != nil {
			return nil, err
		}
	}
	if o.listen != "" {
		if err := m.serve(o); err != nil {
			return nil, err
		}
	}
	m.sender = exporter.OpenSender(env.Getenv, func(text string) { note(m.env.Stderr, text) }, m.Exporter)
	m.asked = o.listen != "" || o.textfile != "" || m.sender != nil
	return m, nil
}

func (m *meter) serve(o *metricsOptions) error {
	address, err := net.ResolveTCPAddr("tcp", o.listen)
	if err != nil {
		return fail(exitUsage, "an address and a port, like 127.0.0.1:9465", "--metrics-listen %s: %w", o.listen, err)
	}
	if !address.IP.IsLoopback() && !o.public {
		return fail(exitUsage, "listen at 127.0.0.1, or say --metrics-public",
			"--metrics-listen %s: anyone who reaches this machine could read there what runs on it and how", o.listen)
	}
	listener, err := net.ListenTCP("tcp", address)
	if err != nil {
		return fail(exitUsage, "choose another port", "--metrics-listen %s: %w", o.listen, err)
	}
	m.server = exporter.NewServer(listener, m.Exporter)
	go m.server.Serve()
	return nil
}

func (m *meter) begin(h recording.Job) { m.Job(report.Script(h.Command)) }

// frame offers the state now, and writes the file where that is due.
func (m *meter) frame(f *live.Frame) {
	m.Frame(f)
	m.sender.Complain()
	if m.file.path == "" || f.At < m.next {
		return
	}
	select {
	case err := <-m.writing:
		m.complain(err)
	default:
		if m.writing != nil {
			return // the disk has not done with the last
		}
	}
	m.next, m.writing = f.At+textfileEvery, make(chan error, 1)
	go func(done chan<- error) { done <- m.write() }(m.writing)
}

// end offers what it came to in the end, in the file for good.
func (m *meter) end(r *report.Report) {
	m.End(r)
	if m.file.path == "" {
		return
	}
	if m.writing != nil {
		m.complain(<-m.writing)
	}
	m.complain(m.write())
}

// write writes the file, which is for node_exporter's own user to read.
func (m *meter) write() error {
	return m.file.fill(func(d *saved.Draft) error {
		if err := d.Chmod(0o644); err != nil {
			return err
		}
		return m.Text(d)
	})
}

// complain says once that the file cannot be written any more: the watch is worth going on without.
func (m *meter) complain(err error) {
	if err != nil && !m.failed {
		m.failed = true
		note(m.env.Stderr, "the metrics are not written any more: "+err.Error())
	}
	m.writing = nil
}

// close ends the server, with what is being asked of it, and what is sent.
func (m *meter) close() {
	if m.server != nil {
		m.server.Close()
	}
	m.sender.Close()
}
