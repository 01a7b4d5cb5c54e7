// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"context"
	"io"
	"time"
)

// remote is the place of the program of a remoteProcess: a container, or a sandbox on this host.
type remote interface {
	// place describes the place, for messages.
	place() string
	// refused returns the error for a place that can have no shell, with the reason.
	refused(why string) error
	// connect starts the program, which serves the session id. The caller calls release once the program runs.
	connect(ctx context.Context, id string) (stdio io.ReadWriteCloser, release func(), err error)
	// pid returns the process of this host that runs the commands, or else the one that the program has reported.
	pid(reported int) int
	// end ends all that the program has left, and waits. over means that the program has reported that nothing is
	// left. unresponsive means that it did not answer. grace is between TERM and KILL.
	end(id string, over, unresponsive bool, grace time.Duration)
}

// remote returns where the program of the shell runs. b has a sandbox if that is on this host.
func (s *Shell) remote(b StartConfig) remote {
	if s.options.In != nil {
		return containerRemote{s.options.In, s.table}
	}
	return &sandboxRemote{shell: s, config: b}
}

// containerRemote is a container.
type containerRemote struct {
	Container
	table *Table
}

func (c containerRemote) place() string            { return "container " + c.Name() }
func (c containerRemote) refused(why string) error { return &ContainerError{c.Name(), why} }
func (c containerRemote) pid(reported int) int     { return reported }

func (c containerRemote) connect(ctx context.Context, id string) (io.ReadWriteCloser, func(), error) {
	installed, err := install(ctx, c, id)
	if err != nil {
		return nil, nil, err
	}
	stdio, _, err := c.Start(ctx, []string{installed.path, serveArg}, false)
	if err != nil {
		installed.remove()
		return nil, nil, err
	}
	return stdio, installed.remove, nil
}

// end starts another program, which ends the processes that a killed one has left. The container may have gone.
func (c containerRemote) end(id string, over, unresponsive bool, grace time.Duration) {
	if over {
		return
	}
	limit := grace + c.table.replyTimeout()
	if unresponsive { // a container must not delay the end of its session
		limit = min(limit, time.Second)
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	installed, err := install(ctx, c, newProcessID())
	if err != nil {
		return
	}
	defer installed.remove()
	stdio, _, err := c.Start(ctx, []string{installed.path, sweepArg, id}, false)
	if err != nil {
		return
	}
	defer stdio.Close()
	stop := context.AfterFunc(ctx, func() { stdio.Close() })
	defer stop()
	io.Copy(io.Discard, stdio) // until it has ended
}
