// SPDX-License-Identifier: Apache-2.0

// Package proxy has the verb proxy, which runs commands for programs that can write to a directory.
package proxy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	dockercli "github.com/docker/cli/cli"
	"github.com/docker/cli/cli/command"
	"github.com/spf13/cobra"

	"github.com/docker-hostexec/hostexec/exec/hostcode"
	"github.com/docker-hostexec/hostexec/exec/mount"
	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/osenv"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/carrier"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/inject"
	"github.com/docker-hostexec/hostexec/plugin/launch"
	"github.com/docker-hostexec/hostexec/plugin/metadata"
	"github.com/docker-hostexec/hostexec/plugin/notify"
	"github.com/docker-hostexec/hostexec/plugin/sessions"
	"github.com/docker-hostexec/hostexec/plugin/state"
	"github.com/docker-hostexec/hostexec/plugin/watch"
)

const proxyLong = `Run commands of this host for programs that can write to a directory

The proxy needs no engine and no socket: requests and answers are files. Every container that
has the directory mounted read-write can call. The client is a script for POSIX shells; other
programs can use the protocol of docs/files.md. Commands run as you, in the directory where you
start the proxy.

The directories have mode 0700. So you can call, and in containers root and users with your
user id. Other users of this host cannot. With --any-user, every user can call, in containers
and on this host.

Each command has a directory .hostexec/proxy/CMD with its requests, its client CMD and the file
CMD.pid. With --dir, all commands use one directory. After ^C or TERM, the proxy refuses new
requests, and running calls have --shutdown-grace to end. A third ^C, or KILL, ends them at
once. The client and the PID file are removed.

EXIT STATUS
  0    the proxy was ended by a signal, or by docker hostexec stop
  1    another proxy serves the command in that directory, or a third signal ended it
  125  the proxy could not start, its watcher or keeper was killed, or the command line is wrong;
       a line on stderr says why
  130  ^C ended the proxy before it had started; 128+N: signal N did`

const proxyExample = `  docker hostexec proxy make
  docker run --rm -v "$PWD:/w" -w /w debian .hostexec/proxy/make/make build

  # several commands, one of which asks first, for all containers that mount ~/.hostexec/proxy
  docker hostexec proxy --global make git=ask`

// proxyOptions are the flags of proxy.
type proxyOptions struct {
	dir      string
	global   bool
	grace    time.Duration
	passEnv  []string
	newPrivs bool
	anyUser  bool
}

// NewCommand returns the verb proxy.
func NewCommand(dockerCLI command.Cli) *cobra.Command {
	var opts proxyOptions
	cmd := &cobra.Command{
		Use:               "proxy [OPTIONS] CMD[=allow|ask|deny|/path] [CMD...]",
		Short:             "Run commands for programs that can write to a directory, without an engine",
		Long:              proxyLong,
		Example:           proxyExample,
		Args:              dockercli.RequiresMinArgs(1),
		ValidArgsFunction: launch.CompleteProxy,
		RunE: func(cmd *cobra.Command, args []string) error {
			err := cli.RefuseEmpty(cmd.Flags(), "dir")
			if cmd.Flags().Changed("dir") && cmd.Flags().Changed("global") {
				err = errors.New("--dir and --global exclude each other")
			}
			if err != nil {
				return cli.FailRun(err)
			}
			ctx, stop := cli.Interruptible(cmd.Context(), dockerCLI)
			defer stop()
			err = runProxy(ctx, dockerCLI, opts, args)
			var running *state.ProxyRunning
			if errors.As(err, &running) {
				return &cli.Failure{Code: cli.CodeVerb, Err: running}
			}
			return cli.FailRun(err)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.dir, "dir", "", "`Directory` for the requests of all commands")
	flags.BoolVar(&opts.global, "global", false, "Use ~/.hostexec/proxy in place of ./.hostexec/proxy")
	flags.BoolVar(&opts.anyUser, "any-user", false, "Let every user call, on this host too")
	flags.DurationVar(&opts.grace, "shutdown-grace", 30*time.Second, "`Time` for running calls to end after ^C or TERM")
	flags.StringArrayVar(&opts.passEnv, "pass-env", nil, "Pass variable `NAME` of the caller on to commands")
	flags.BoolVar(&opts.newPrivs, "allow-new-privs", false, "Let commands gain privileges (setuid, file capabilities, snaps)")
	return cmd
}

// runProxy starts the session's watcher, and waits until it ends.
func runProxy(ctx context.Context, dockerCLI command.Cli, opts proxyOptions, args []string) error {
	p, err := opts.plan(args, cli.GlobalArgs(dockerCLI))
	if err != nil {
		return err
	}
	store, err := sessions.OpenStore()
	if err != nil {
		return err
	}
	if err := checkDirectory(store.Home, p.Record); err != nil {
		return err
	}
	conn, err := startWatcher(ctx, store, p)
	if err != nil {
		return cli.CauseOf(ctx, err)
	}
	announceProxy(dockerCLI, opts, p, conn.Warnings())
	launch.StartPage(store, p.Record, p.Config)
	gone := make(chan error, 1)
	// ends with the watcher, at the latest when conn is closed.
	go func() { gone <- conn.WaitEnd(func(text string) { cli.Say(dockerCLI.Err(), "%s", text) }) }()
	select {
	case err := <-gone: // another process has ended the watcher
		return errors.Join(err, watch.EndUnwatched(store.Dir(p.Record.ID)))
	case <-ctx.Done():
	}
	if cli.DockerKilled(ctx) {
		return conn.Close() // the calls end at once, as if this process had been killed
	}
	err = conn.Drain()
	return errors.Join(err, <-gone)
}

// startWatcher creates the session of p and starts its watcher. It returns when the watcher answers calls.
func startWatcher(ctx context.Context, store *state.Store, p *launch.Plan) (*watch.Conn, error) {
	p.Record.ID = state.NewID()
	conn, err := watch.Start(store.Dir(p.Record.ID), p.Record.GlobalArgs)
	if err != nil {
		return nil, err
	}
	if err = store.Create(&p.Record); err == nil {
		// Commands that run in containers of their own need the shim in the share.
		err = inject.FillShare(store.Home, store.Dir(p.Record.ID), runtime.GOARCH, inject.Content{})
	}
	if err == nil {
		err = conn.Recorded()
	}
	if err == nil {
		err = conn.Ready(ctx)
	}
	if err != nil {
		conn.Abort()
		return nil, explainProxy(p.Record, errors.Join(err, store.Discard(p.Record.ID)))
	}
	return conn, nil
}

// plan returns the checked result of the flags. Nothing has been created yet.
func (o *proxyOptions) plan(args, globalArgs []string) (*launch.Plan, error) {
	commands, err := launch.ParseProxies(args)
	if err == nil && state.FindCommand(commands, policy.GitPush) != nil {
		err = fmt.Errorf("%s does not work over files: docker hostexec run and attach have it", policy.GitPush)
	}
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "--proxy "))
	}
	if err := launch.CheckEnv(o.passEnv); err != nil {
		return nil, err
	}
	if o.grace < 0 {
		return nil, fmt.Errorf("--shutdown-grace %s: must not be negative", o.grace)
	}
	p := &launch.Plan{Record: state.Session{
		Version: metadata.Version, Created: time.Now().UTC().Truncate(time.Second), Carrier: carrier.ByFiles,
		PassEnv: o.passEnv, NewPrivs: o.newPrivs, GlobalArgs: globalArgs, Terminal: state.Terminal(notify.CurrentTerminal()),
	}}
	if p.Record.InvokedIn, err = os.Getwd(); err != nil {
		return nil, fmt.Errorf("find the current directory: %w", err)
	}
	p.Record.Workspace = p.Record.InvokedIn
	if p.Record.Proxy, err = o.requestDir(p.Record.InvokedIn); err != nil {
		return nil, err
	}
	if p.Config, err = p.LoadConfig(); err != nil {
		return nil, err
	}
	for i, c := range commands {
		if c.Path == "" {
			commands[i].Path = p.Config.Program(c.Name)
		}
	}
	p.Record.Commands = commands
	err = resolveProtected(p)
	if next := cli.HintOf(err); next != "" { // flags of run are arguments here
		err = cli.Hint(errors.Unwrap(err), strings.Replace(next, "--proxy ", "docker hostexec proxy ", 1))
	}
	return p, err
}

// resolveProtected is launch.ResolveCommands for the directories of PATH that callers cannot write.
func resolveProtected(p *launch.Plan) error {
	table, err := mount.NewTable(watch.WritableByCallers(p.Record), mount.Default{})
	if err != nil {
		return err
	}
	all := os.Getenv("PATH")
	protected, _ := hostcode.Path(all, table)
	err = launch.ResolveCommands(p.Record.Commands, protected, p.Elsewhere)
	for _, c := range p.Record.Commands {
		if at, found := osenv.LookPath(c.Name, all); err != nil && c.Path == "" && found && table.Writable(at) {
			return cli.Hint(fmt.Errorf("command %s is %s, which callers can write", c.Name, at),
				fmt.Sprintf("install it elsewhere, or name its place: --proxy %s=/path/to/%s", c.Name, c.Name))
		}
	}
	return err
}

// requestDir returns the directory for requests. The user has chosen the existing part of its path, including
// links; missing directories are created below it without following links.
func (o *proxyOptions) requestDir(cwd string) (*state.Proxy, error) {
	p := &state.Proxy{Base: cwd, RelativePath: filepath.Join(".hostexec", "proxy"), Grace: o.grace, AnyUser: o.anyUser}
	switch {
	case o.global:
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, fmt.Errorf("--global: %w", err)
		}
		p.Base = home
	case o.dir != "":
		abs, err := filepath.Abs(o.dir)
		if err != nil {
			return nil, err
		}
		p.Flat = true
		p.Base, p.RelativePath = splitExisting(abs)
		if p.RelativePath == "" {
			return nil, fmt.Errorf("--dir %s: not a directory for requests", names.Quoted(o.dir))
		}
	}
	return p, nil
}

// splitExisting splits an absolute path into its deepest existing directory, without links, and the rest. The root
// has no rest.
func splitExisting(abs string) (base, rest string) {
	for base = abs; base != "/"; {
		base, rest = filepath.Dir(base), filepath.Join(filepath.Base(base), rest)
		if real, err := filepath.EvalSymlinks(base); err == nil {
			return real, rest
		}
	}
	return base, rest
}

// checkDirectory refuses a directory for requests that contains hostexec's state or a program that the requests
// run, under any name.
func checkDirectory(home string, rec state.Session) error {
	v, err := mount.ReadHostMounts()
	if err != nil {
		return err
	}
	for _, c := range rec.Commands {
		requests, _ := rec.Proxy.Dir(c.Name)
		switch {
		case v.Overlap(home, requests):
			return cli.Hint(fmt.Errorf("the requests in %s and the state directory %s overlap", requests, home), "use another --dir, or set HOSTEXEC_HOME")
		case c.Path != "" && v.Resolve(c.Path).Through(v.Locate(requests)):
			return fmt.Errorf("callers could change %s, which %s runs: use another --dir", c.Path, c.Name)
		}
	}
	return nil
}

// explainProxy names the process that already serves a command, if that is the reason for err.
func explainProxy(rec state.Session, err error) error {
	for _, c := range rec.Commands {
		_, after, found := strings.Cut(err.Error(), fmt.Sprintf("proxy for '%s' already running (PID ", c.Name))
		var pid int
		if _, serr := fmt.Sscanf(after, "%d)", &pid); found && serr == nil {
			return &state.ProxyRunning{Command: c.Name, PID: pid}
		}
	}
	return err
}

// announceProxy prints that calls are answered, and where the clients are.
func announceProxy(dockerCLI command.Cli, opts proxyOptions, p *launch.Plan, warnings []string) {
	for _, w := range warnings {
		cli.Say(dockerCLI.Err(), "%s", w)
	}
	for _, w := range p.Config.Warnings {
		cli.Say(dockerCLI.Err(), "warning: %s", w)
	}
	if dockerCLI.Err().IsTerminal() {
		cli.Say(dockerCLI.Err(), "commands run in %s, from whatever directory the container calls them", p.Record.InvokedIn)
		from := p.Record.InvokedIn + ", which a container may have been given"
		for _, text := range watch.HostCode(p.Policy(), p.Record.Commands, from, policy.Grades...) {
			cli.Say(dockerCLI.Err(), "%s", text)
		}
	}
	for _, c := range p.Record.Commands {
		fmt.Fprintf(dockerCLI.Out(), "[proxy] Listening for '%s' commands...\n", c.Name)
		fmt.Fprintf(dockerCLI.Out(), "[proxy] Container script: %s\n", opts.script(p.Record.Proxy, c.Name))
	}
}

// script returns the path of a command's client, in the form that the user has typed.
func (o *proxyOptions) script(p *state.Proxy, name string) string {
	if o.dir != "" {
		return filepath.Join(o.dir, name)
	}
	dir, rest := p.Dir(name)
	if o.global {
		return filepath.Join(dir, name)
	}
	return filepath.Join(rest, name)
}
