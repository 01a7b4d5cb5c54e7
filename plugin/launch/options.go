// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/docker-hostexec/hostexec/exec/names"
	"github.com/docker-hostexec/hostexec/exec/policy"
	"github.com/docker-hostexec/hostexec/plugin/carrier"
	"github.com/docker-hostexec/hostexec/plugin/cli"
	"github.com/docker-hostexec/hostexec/plugin/config"
	"github.com/docker-hostexec/hostexec/plugin/metadata"
	"github.com/docker-hostexec/hostexec/plugin/notify"
	"github.com/docker-hostexec/hostexec/plugin/state"
)

// Options are the flags that run has in addition to those of docker run.
type Options struct {
	Proxies     []string
	Shell       string
	Workspace   string
	WorkdirHost string
	PassEnv     []string
	NewPrivs    bool
	Carrier     string
	Dir         string // where run was called; empty: the current directory
	HTTP        string
	cloister    bool
}

// AddFlags adds the flags that run, with, compose and agent share.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	o.AddCommonFlags(flags)
	flags.StringVar(&o.Workspace, "workspace", "", "Mount a host `directory` at the same path, and work there; without a value: the current one")
	flags.Lookup("workspace").NoOptDefVal = "."
	flags.StringVar(&o.Carrier, "carrier", "auto", "Use this `carrier` for calls: auto, socket, relay or files")
}

// AddHTTPFlags adds the flags that only run, with and compose have. Calls over HTTP need the network of the container
// that is created.
func (o *Options) AddHTTPFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.HTTP, "http", "", "Answer calls over HTTP, too, at the container's gateway: `address` is :PORT, or the gateway with or without a port")
	flags.Lookup("http").NoOptDefVal = atGateway
	flags.BoolVar(&o.cloister, "cloister-compat", false, "With --http, also set the variables for clients of cloister (docs/http.md)")
}

// AddCommonFlags adds the flags that attach and devcontainer have, too.
func (o *Options) AddCommonFlags(flags *pflag.FlagSet) {
	// The help takes the value's name from the first word in backquotes; a second one would break it.
	flags.StringArrayVar(&o.Proxies, "proxy", nil, "Let the container call this host `command`: NAME[=ACTION|=/path][,OPTION...]. ACTION: allow, ask or deny. OPTION: keep, path=/path, where=host, where=sandbox, or where=container:IMAGE with docker_host=, network=, memory=, cpus=, pids=. git-push: pushes and fetches of the container's git")
	flags.StringVar(&o.Shell, "proxy-shell", "", "Let the container run shells that keep their state: `ACTION`[,where=sandbox][,in=CONTAINER]...")
	flags.Lookup("proxy-shell").NoOptDefVal = "allow"
	flags.StringVar(&o.WorkdirHost, "workdir-host", "", "If the container has no bind mount, run all commands in this host `directory`")
	flags.StringArrayVar(&o.PassEnv, "pass-env", nil, "Pass variable `NAME` of the container on to host commands")
	flags.BoolVar(&o.NewPrivs, "allow-new-privs", false, "Let host commands gain privileges (setuid, file capabilities, snaps)")
}

// Plan is the checked result of the flags. Nothing has been created yet.
type Plan struct {
	Record     state.Session
	Workspace  string // host directory to mount and to work in, or ""
	HasWorkdir bool   // whether the user gave a working directory
	Config     *config.Config
	http       httpOptions
}

// Plan checks the flags against the host. It creates nothing but the state directory.
func (o *Options) Plan(image string, hasWorkdir bool) (*Plan, error) {
	commands, err := ParseProxies(o.Proxies)
	if err != nil {
		return nil, err
	}
	if err := checkCarrier(o.Carrier); err != nil {
		return nil, err
	}
	if err := CheckEnv(o.PassEnv); err != nil {
		return nil, err
	}
	p := &Plan{HasWorkdir: hasWorkdir, Record: state.Session{
		Version:  metadata.Version,
		Created:  time.Now().UTC().Truncate(time.Second),
		Image:    image,
		Carrier:  o.Carrier,
		PassEnv:  o.PassEnv,
		NewPrivs: o.NewPrivs,
		Terminal: state.Terminal(notify.CurrentTerminal()),
	}}
	if p.http, err = parseHTTP(o.HTTP, o.cloister); err != nil {
		return nil, err
	}
	if p.http.wanted {
		p.Record.HTTP = &state.HTTP{}
	}
	if err := o.directories(p); err != nil {
		return nil, err
	}
	if p.Record.Commands, err = p.configured(commands); err != nil {
		return nil, err
	}
	if p.Record.Shell, err = parseShell(o.Shell, os.Getenv("PATH")); err != nil {
		return nil, err
	}
	p.Record.RuleCommands = p.ruleCommands(os.Getenv("PATH"))
	return p, ResolveCommands(p.Record.Commands, os.Getenv("PATH"), p.Elsewhere)
}

// configured adds the configuration's commands for this project, and the programs that it names, to commands. Commands
// of the flags take precedence.
func (p *Plan) configured(commands []state.Command) ([]state.Command, error) {
	var err error
	if p.Config, err = p.LoadConfig(); err != nil {
		return nil, err
	}
	more, err := ConfiguredCommands(p.Config)
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	for _, c := range more {
		if state.FindCommand(commands, c.Name) == nil {
			commands = append(commands, c)
		}
	}
	for i, c := range commands {
		if c.Path == "" {
			commands[i].Path = p.Config.Program(c.Name)
		}
	}
	return commands, nil
}

// Elsewhere reports whether a command does not run on this host.
func (p *Plan) Elsewhere(c state.Command) bool { return p.image(c) != "" }

// image returns the image in whose container a command runs, or "".
func (p *Plan) image(c state.Command) string {
	if c.Where != nil {
		return c.Where.Image
	}
	return p.Config.Policy(nil).Rules[c.Name].Place.Image
}

func (o *Options) directories(p *Plan) (err error) {
	if p.Record.InvokedIn = o.Dir; o.Dir == "" {
		if p.Record.InvokedIn, err = os.Getwd(); err != nil {
			return fmt.Errorf("find the current directory: %w", err)
		}
	}
	if o.Workspace != "" {
		if p.Workspace, err = cli.Directory(o.Workspace); err != nil {
			return fmt.Errorf("--workspace: %w", err)
		}
	}
	p.Record.Workspace = cmp.Or(p.Workspace, p.Record.InvokedIn)
	if o.WorkdirHost != "" {
		if p.Record.WorkdirHost, err = cli.Directory(o.WorkdirHost); err != nil {
			return fmt.Errorf("--workdir-host: %w", err)
		}
	}
	return nil
}

// RefuseBareWorkspace refuses "--workspace DIR" without =, because docker run would take DIR for the image.
// No image's name begins like a path.
func RefuseBareWorkspace(flags *pflag.FlagSet, args []string) error {
	f := flags.Lookup("workspace")
	if !f.Changed || f.Value.String() != f.NoOptDefVal || len(args) == 0 || !strings.HasPrefix(args[0], "/") && !strings.HasPrefix(args[0], ".") && !strings.HasPrefix(args[0], "~") {
		return nil
	}
	return cli.Hint(fmt.Errorf("--workspace: its directory must follow a =, not a space: %s", names.Quoted(args[0])), "--workspace="+names.Quoted(args[0]))
}

// HintMissingEquals returns a hint if image can be the value of a flag that was given without one. docker run takes
// "allow" of "--proxy-shell allow debian" for the image.
func HintMissingEquals(flags *pflag.FlagSet, image string) string {
	for _, f := range []struct {
		name  string
		valid func(string) (value string, err error)
	}{
		{"workspace", cli.Directory},
		{"proxy-shell", func(s string) (string, error) { _, err := parseShellValue(s); return s, err }},
		{"http", func(s string) (string, error) { _, err := parseHTTP(s, false); return s, err }},
	} {
		if flag := flags.Lookup(f.name); !flag.Changed || flag.Value.String() != flag.NoOptDefVal {
			continue
		}
		if value, err := f.valid(image); err == nil {
			return fmt.Sprintf("a value must follow a =, not a space: --%s=%s", f.name, names.Quoted(value))
		}
	}
	return ""
}

func checkCarrier(name string) error {
	switch name {
	case "auto", carrier.BySocket, carrier.ByRelay, carrier.ByFiles:
		return nil
	}
	return fmt.Errorf("--carrier %s: there are auto, socket, relay and files", names.Quoted(name))
}

var envForm = names.Form{First: "A-Za-z_", Chars: "A-Za-z0-9_", Min: 1, Max: names.Unbounded}

// CheckEnv refuses values that are not names of variables. The session's record never has values of variables.
func CheckEnv(variables []string) error {
	for _, name := range variables {
		var err error
		switch {
		case strings.Contains(name, "="):
			err = errors.New("give the name only, the container sets the value")
		case !envForm.Matches(name):
			err = errors.New("not the name of a variable")
		case strings.HasPrefix(name, "HOSTEXEC_"):
			err = errors.New("this variable is hostexec's own")
		case name == "PATH":
			err = errors.New("commands, and the programs that they call, are found in the host's own PATH")
		}
		if err != nil {
			return fmt.Errorf("--pass-env %s: %w", names.Quoted(name), err)
		}
	}
	return nil
}

// LoadConfig reads the configuration. A broken configuration is an error, because every call would be refused.
func (p *Plan) LoadConfig() (*config.Config, error) {
	store, err := state.Open()
	if err != nil {
		return nil, err
	}
	c := config.Load(config.Source{Store: store.Home, Project: p.Record.InvokedIn, Workspace: p.Record.Workspace})
	if c.Err != nil {
		return nil, cli.Hint(fmt.Errorf("read the configuration: %w", c.Err), "docker hostexec policy check")
	}
	return c, nil
}

// Policy returns the policy for the plan's commands.
func (p *Plan) Policy() *policy.Policy {
	return p.Config.Policy(config.PolicyCommands(p.Record.Commands))
}
