// Package cli is the command line: one file per command, exit codes in exit.go, who speaks on which stream in voice.go.
//
// It wires the layers together and holds no knowledge of its own about jobs, disks or GPUs.
package cli

import (
	"io"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	"github.com/pipetune/pipetune/internal/launch"
)

// Env is everything the commands take from the outside.
type Env struct {
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	StdoutTerminal bool
	StderrTerminal bool
	Columns        func() int // of the terminal; 0, or nil: not known
	StdinTerminal  bool
	Stdin          io.Reader
	// Signals delivers interrupts, terminations and hang-ups; stop ends the delivery.
	Signals func() (c <-chan os.Signal, stop func())
	// JobSignals delivers what a launched job is to get too.
	JobSignals func() (c <-chan os.Signal, stop func())
	// Pipes makes a write to a pipe whose reader is gone an error, until stop; nil leaves it to end the program.
	Pipes func() (stop func())
}

// System is the environment of the process.
func System() Env {
	return Env{
		Stdout: os.Stdout, Stderr: os.Stderr, Stdin: os.Stdin, Getenv: os.Getenv,
		StdoutTerminal: term.IsTerminal(int(os.Stdout.Fd())),
		StderrTerminal: term.IsTerminal(int(os.Stderr.Fd())),
		Columns:        terminalColumns,
		StdinTerminal:  term.IsTerminal(int(os.Stdin.Fd())),
		Signals: func() (<-chan os.Signal, func()) {
			c := make(chan os.Signal, 4)
			for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
				if !signal.Ignored(s) { // under nohup, and in the background of a script, it stays ignored
					signal.Notify(c, s)
				}
			}
			return c, func() { signal.Stop(c) }
		},
		JobSignals: launch.Signals,
		Pipes: func() func() {
			c := make(chan os.Signal, 1)
			signal.Notify(c, syscall.SIGPIPE)
			return func() { signal.Stop(c) }
		},
	}
}

func terminalColumns() int {
	for _, f := range []*os.File{os.Stdout, os.Stderr, os.Stdin} {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil {
			return n
		}
	}
	return 0
}
