package top

import (
	"math"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/pipetune/pipetune/internal/live"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/pkg/report"
)

// busy is a frame with all that an overview shows, of two ranks and two GPUs.
func busy() *live.Frame {
	past := make([]float64, 160)
	for i := range past {
		past[i] = float64(i%7) / 7
	}
	past[3] = math.NaN()
	f := &live.Frame{At: 90 * time.Minute, Ranks: []string{"0", "1"}}
	add := func(d metric.Desc, of live.Owner, now float64) {
		f.Figures = append(f.Figures, live.Figure{Signal: d, Of: of, Now: now, Past: past, Flow: true})
	}
	for rank, wait := range map[string]float64{"0": 0.1, "1": 0.6} {
		of := live.Owner{Rank: rank}
		add(metric.InputWait, of, wait)
		add(metric.BatchesPerS, of, 12.3)
		add(metric.QueueBatches, of, 0.4)
		add(metric.NumWorkers, of, 2)
		for _, s := range live.States {
			add(metric.Workers, live.Owner{Rank: rank, State: s.Name}, 1.0/3)
		}
		add(metric.GPUUtil, live.Owner{Device: "GPU-" + rank}, 0.5)
		add(metric.GPUMemUsed, live.Owner{Device: "GPU-" + rank}, 1<<30)
		add(metric.GPUMemTotal, live.Owner{Device: "GPU-" + rank}, 4<<30)
		f.Workers = append(f.Workers,
			live.Worker{PID: 7, Rank: rank, CPU: 0.5, RSS: 1 << 28, States: []float64{0.5, 0.2, 0, 0, 0, 0.3}},
			live.Worker{PID: 8, Rank: rank, CPU: math.NaN(), RSS: math.NaN()})
	}
	add(metric.CPUBusyRatio, live.Owner{}, 0.9)
	add(metric.JobCPU, live.Owner{}, 1.5)
	add(metric.CPUUsable, live.Owner{}, 2)
	add(metric.MemTotal, live.Owner{}, 8<<30)
	add(metric.MemAvailable, live.Owner{}, 6<<30)
	add(metric.DiskByteRate, live.Owner{Device: "nvme0n1"}, 1e8)
	return f
}

func verdict() *report.Report {
	stall := report.Interval{Center: 0.55, Lo: 0.5, Hi: 0.6}
	return &report.Report{
		Job:    &report.Job{PID: 41207, Command: []string{"python", "train.py"}, Ranks: 2},
		Window: &report.Window{DurationS: 60},
		Verdict: &report.Verdict{Class: report.InputBound, Rule: "loader/workers-too-few", Confidence: report.High,
			Statement: "The trainer waits.", Step: report.Step{DataStall: &stall}},
		Findings: []report.Finding{{Rule: "loader/workers-too-few", Title: "Too few loader workers",
			Severity: report.Error}},
	}
}

func press(m *model, keys ...tea.KeyPressMsg) {
	for _, k := range keys {
		m.Update(k)
	}
}

func key(r rune) tea.KeyPressMsg { return tea.KeyPressMsg{Code: r, Text: string(r)} }

// TestEveryPageFitsEveryTerminal, however narrow or low, with and without what there is to show.
func TestEveryPageFitsEveryTerminal(t *testing.T) {
	pages := map[string]func(m *model){
		"starting": func(*model) {},
		"overview": func(m *model) { m.Update(busy()) },
		"verdict":  func(m *model) { m.Update(busy()); m.Update(judgement{verdict(), time.Minute, false}) },
		"ended":    func(m *model) { m.Update(busy()); m.Update(judgement{nil, time.Minute, true}) },
		"workers":  func(m *model) { m.Update(busy()); press(m, tea.KeyPressMsg{Code: tea.KeyTab}) },
		"findings": func(m *model) {
			m.Update(busy())
			m.Update(judgement{verdict(), time.Minute, false})
			press(m, tea.KeyPressMsg{Code: tea.KeyTab, Mod: tea.ModShift}, tea.KeyPressMsg{Code: tea.KeyPgDown})
		},
		"help":    func(m *model) { m.Update(busy()); press(m, key('?')) },
		"nothing": func(m *model) { m.Update(&live.Frame{}) },
		"saved":   func(m *model) { m.Update(busy()); m.Update(said("saved " + strings.Repeat("long/", 60))) },
	}
	for name, page := range pages {
		for _, size := range [][2]int{{160, 50}, {100, 30}, {60, 18}, {60, 15}, {40, 12}, {20, 5}, {10, 3}, {3, 2},
			{1, 1}} {
			for _, ascii := range []bool{false, true} {
				m := &model{Config: Config{Job: verdict().Job, Color: !ascii, ASCII: ascii, Save: func() {}}}
				m.Update(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
				page(m)
				v := m.View()
				lines := strings.Split(v.Content, "\n")
				if len(lines) > size[1] || !v.AltScreen {
					t.Errorf("%s at %v: %d lines", name, size, len(lines))
				}
				for _, line := range lines {
					if n := ansi.StringWidth(line); n > size[0] {
						t.Errorf("%s at %v: %d columns: %q", name, size, n, line)
					}
				}
			}
		}
	}
}

// TestTheRankThatWaitsMostIsShown, with the stall that the verdict knows of.
func TestTheRankThatWaitsMostIsShown(t *testing.T) {
	m := &model{Config: Config{Job: verdict().Job}}
	m.Update(tea.WindowSizeMsg{Width: 120, Height: 40})
	m.Update(busy())
	m.Update(judgement{verdict(), time.Minute, false})
	got := m.View().Content
	for _, want := range []string{"GPU 0", "GPU 1", "60 %", "rank 1, data stall 55 %", "VRAM 25 %",
		"INPUT-BOUND (Too few loader workers)", "1:30:00  live"} {
		if !strings.Contains(ansi.Strip(got), want) {
			t.Errorf("lacks %q:\n%s", want, ansi.Strip(got))
		}
	}
	if strings.Contains(got, "\x1b[3") {
		t.Error("colours where none are wanted")
	}
}

// TestATerminalWithoutASize is drawn on as a usual one.
func TestATerminalWithoutASize(t *testing.T) {
	m := &model{width: usualWidth, height: usualHeight}
	_, again := m.Update(tea.WindowSizeMsg{})
	if again == nil {
		t.Fatal("the size is believed")
	}
	if size, ok := again().(tea.WindowSizeMsg); !ok || size.Width != usualWidth || size.Height != usualHeight {
		t.Errorf("%+v", size)
	}
}
