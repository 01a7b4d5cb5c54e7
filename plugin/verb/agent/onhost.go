// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/docker/cli/cli/command"
	"github.com/spf13/pflag"

	"github.com/docker-hostexec/hostexec/plugin/agent"
	"github.com/docker-hostexec/hostexec/plugin/carrier"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/launch"
	"github.com/docker-hostexec/hostexec/plugin/state"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

// agentRun is the run of one agent.
type agentRun struct {
	*agentOptions
	cli  command.Cli
	plan *launch.Plan
	spec agent.Spec
}

// onHost runs the agent as a process on this host, as a child of the session's watcher. The watcher ends it
// when this process is killed, and the keeper when the watcher is killed.
func (r *agentRun) onHost(ctx context.Context, flags *pflag.FlagSet) error {
	for _, name := range containerFlags {
		if flags.Changed(name) {
			return needsContainer(name)
		}
	}
	program, err := r.spec.Program(os.Environ())
	if err != nil {
		return err
	}
	// The agent works and calls in the directory without links, because the kernel reports the directory of a
	// call without links.
	if r.plan.Record.Workspace, err = cli.Directory(r.plan.Record.Workspace); err != nil {
		return err
	}
	if !watch.Supported {
		return r.withoutSession(ctx, program)
	}
	in, piped, err := r.stdin(r.plan.Record.Workspace)
	if err != nil {
		return err
	}
	r.plan.Record.Carrier = carrier.BySocket // there is no container and no engine
	l, err := launch.Begin(ctx, r.cli, r.plan, in, os.Stdout, os.Stderr)
	if piped {
		in.Close() // the agent has its own copy
	}
	if err != nil {
		return err
	}
	code, err := r.process(ctx, l, program)
	if err != nil {
		return exit(code, errors.Join(err, l.Finish()))
	}
	select {
	case <-l.Conn.Exited():
	case <-time.After(watch.EndTimeout):
	}
	l.Background.Wait()
	_ = l.Conn.Done() // the watcher removes the record, unless it keeps jobs
	return exit(code, nil)
}

// process has the session's watcher run the agent.
func (r *agentRun) process(ctx context.Context, l *launch.Launch, program string) (int, error) {
	share := state.ShareDir(l.Dir)
	env, err := agent.Environ(os.Environ(), r.spec.Env, share, len(r.plan.Record.RuleCommands) > 0)
	if err == nil {
		err = launch.FillShare(l.Store, r.plan, runtime.GOARCH)
	}
	if <-l.Ready; err == nil { // until then, the launch reads from Conn
		err = l.Err
	}
	if err != nil {
		return 0, err
	}
	l.Writable = []string{r.plan.Record.Workspace}
	l.CommandDirs = "commands run in " + r.plan.Record.Workspace + ", and below it"
	l.Announce()
	return l.Conn.Run(ctx, watch.Process{Path: program, Args: r.spec.Args, Env: env, Dir: r.plan.Record.Workspace})
}

// stdin returns the agent's stdin: this process's own or, with a handshake, a pipe that gets it first.
func (r *agentRun) stdin(cwd string) (in *os.File, piped bool, err error) {
	if !r.handshake {
		return os.Stdin, false, nil
	}
	in, w, err := os.Pipe()
	if err != nil {
		return nil, false, fmt.Errorf("send the handshake: %w", err)
	}
	// ends with stdin or the agent, or with the process.
	go func() {
		defer w.Close()
		if _, err := w.Write(agent.Handshake(cwd)); err == nil {
			_, _ = io.Copy(w, os.Stdin) // an error means that the agent has ended or closed its stdin
		}
	}()
	return in, true, nil
}
