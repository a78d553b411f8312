package main

import (
	"errors"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"github.com/obspc/obspc/cmd/obspc/expect"
	"github.com/obspc/obspc/cmd/obspc/live"
	"github.com/obspc/obspc/compiler"
	"github.com/obspc/obspc/compiler/ir"
)

// lab tries expectations against this machine's kernel.
type lab struct {
	bench *live.Bench
	stop  func()
}

// newLab makes a bench for the sandboxes of this system.
func newLab(c *cli.Context, conf *configuration) (*lab, error) {
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		return nil, &exitError{exitMachine, err}
	}
	o := live.Options{Self: self, Own: ownSlots}
	if home, err := userHome(); err == nil {
		o.Binding = o.Binding.With(ir.Home, home)
	}
	if err := launch(c, conf, &o); err != nil {
		var said *exitError
		if !errors.As(err, &said) {
			err = &exitError{exitMachine, err}
		}
		return nil, err
	}
	ctx, stop := signal.NotifyContext(c.Context, unix.SIGINT, unix.SIGTERM)
	bench, err := live.New(ctx, o)
	if err != nil {
		stop()
		return nil, &exitError{exitMachine, err}
	}
	return &lab{bench, stop}, nil
}

// try tries one expectation, or says why it cannot.
func (l *lab) try(t compiler.Test, e compiler.Expectation) expect.Live {
	return l.bench.Observe(t.Policy, t.Binding, e.Request).Judge(e.Allow)
}

// interrupted is why the attempts ended early.
func (l *lab) interrupted() error { return l.bench.Interrupted() }

func (l *lab) close() {
	l.stop()
	l.bench.Close()
}
