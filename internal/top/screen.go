// Package top is the full screen of a watch that goes on: what the job does now, what holds it back, and the change
// that cures it.
//
// It shows frames (package live) and reports as they come and never asks for one, so that a terminal that does not take
// what is written to it holds up nobody. It is read-only: no key does anything to the job.
package top

import (
	"io"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/pipetune/pipetune/internal/live"
	"github.com/pipetune/pipetune/pkg/report"
)

// Config is what a screen is made with.
type Config struct {
	In    io.Reader // the terminal
	Out   io.Writer
	Job   *report.Job
	Color bool
	ASCII bool   // the terminal shows no other characters
	Save  func() // what the key s does; what comes of it is said with Say
}

// Screen is a terminal that a watch is shown on. Its methods may be called from any goroutine.
type Screen struct {
	program *tea.Program
	news    chan tea.Msg
}

// The news that a screen is reported.
type (
	judgement struct {
		*report.Report
		at   time.Duration
		last bool // the watch is over
	}
	said string
)

// keysPerSecond bounds how often the screen is drawn after keys; frames come once a second.
const keysPerSecond = 10

// New makes a screen. Nothing is drawn before Run.
func New(c Config) *Screen {
	profile := colorprofile.ASCII
	if c.Color {
		profile = colorprofile.ANSI
	}
	s := &Screen{news: make(chan tea.Msg, 64)}
	s.program = tea.NewProgram(&model{Config: c, width: usualWidth, height: usualHeight}, tea.WithInput(c.In),
		tea.WithOutput(c.Out), tea.WithoutSignalHandler(), tea.WithFPS(keysPerSecond), tea.WithColorProfile(profile))
	return s
}

// Run draws until the person quits or Quit is called. The terminal is then as it was before. An error says that there
// is no terminal any more.
func (s *Screen) Run() error {
	over := make(chan struct{})
	defer close(over)
	go func() {
		for {
			select {
			case <-over:
				return
			case msg := <-s.news:
				s.program.Send(msg)
			}
		}
	}()
	_, err := s.program.Run()
	return err
}

// Show draws a frame, unless the terminal has not even taken what came before it.
func (s *Screen) Show(f *live.Frame) { s.send(f) }

// Judge shows what a watch has come to at a moment; nil where there is nothing to conclude yet.
func (s *Screen) Judge(r *report.Report, at time.Duration) { s.send(judgement{Report: r, at: at}) }

// End shows the last state until the person quits.
func (s *Screen) End(r *report.Report, at time.Duration) { s.send(judgement{r, at, true}) }

// Say shows a line for a while.
func (s *Screen) Say(text string) { s.send(said(text)) }

// Quit ends the screen.
func (s *Screen) Quit() { s.program.Quit() }

func (s *Screen) send(msg tea.Msg) {
	select {
	case s.news <- msg:
	default:
	}
}
