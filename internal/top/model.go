package top

import (
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/pipetune/pipetune/internal/live"
)

// view is one of the pages that Tab goes through.
type view int

const (
	overview view = iota
	workers
	findings
	views
)

// names of the views, as the last line offers them.
var names = [views]string{"overview", "workers", "findings"}

type model struct {
	Config
	width, height int

	frame   *live.Frame // the last one
	held    *live.Frame // the one that is shown while the screen stands still
	verdict judgement
	view    view
	help    bool
	scroll  int
	note    string
	noteFor int // frames that it stands for still
	paused  bool
}

// noteFrames is for how many seconds a line that was said stands.
const noteFrames = 6

// Init implements tea.Model.
func (m *model) Init() tea.Cmd { return nil }

// Update takes a key or what the watch tells.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		if msg.Width <= 0 || msg.Height <= 0 { // a terminal that does not tell its size
			return m, func() tea.Msg { return tea.WindowSizeMsg{Width: usualWidth, Height: usualHeight} }
		}
		m.width, m.height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		return m, m.key(msg.String())
	case *live.Frame:
		m.frame = msg
		if m.noteFor--; m.noteFor <= 0 {
			m.note = ""
		}
	case judgement:
		if msg.Report == nil && m.verdict.Report != nil { // the last stands
			msg.Report = m.verdict.Report
		}
		m.verdict = msg
	case said:
		m.note, m.noteFor = string(msg), noteFrames
	}
	return m, nil
}

func (m *model) key(name string) tea.Cmd {
	switch name {
	case "q", "ctrl+c", "Q":
		return tea.Quit
	case "ctrl+z":
		return tea.Suspend
	case "ctrl+l":
		return tea.ClearScreen
	case "?", "h":
		m.help, m.scroll = !m.help, 0
	case "esc":
		m.help = false
	case "space":
		m.paused, m.held = !m.paused, m.frame
	case "tab", "right":
		m.turn(1)
	case "shift+tab", "left":
		m.turn(-1)
	case "down", "j":
		m.scroll++
	case "up", "k":
		m.scroll--
	case "pgdown":
		m.scroll += m.height / 2
	case "pgup":
		m.scroll -= m.height / 2
	case "home", "g":
		m.scroll = 0
	case "s":
		m.note, m.noteFor = "saving …", noteFrames
		return func() tea.Msg { m.Save(); return nil }
	}
	return nil
}

func (m *model) turn(by view) { m.view, m.scroll, m.help = (m.view+by+views)%views, 0, false }

func (m *model) shown() *live.Frame {
	if m.paused && m.held != nil {
		return m.held
	}
	return m.frame
}

// state says in a word or two how the watch stands.
func (m *model) state() string {
	f := m.shown()
	if f == nil {
		return "starting"
	}
	at := clock(f.At)
	switch {
	case m.verdict.last:
		return at + "  the job has ended"
	case m.paused:
		return at + "  PAUSED"
	}
	return at + "  live"
}

func clock(at time.Duration) string {
	s := int(at.Seconds())
	if at >= time.Hour {
		return fmt.Sprintf("%02d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}
